import type { Json } from '../base/json.ts';
import type { Measurement } from '../profiler/measurement.ts';
import type { Trial } from '../study/types.ts';

type Cell = string | number | null | undefined;

/** Every measurement of every trial, and every failed trial, one row each; the columns are the same in every run but for the parameters. */
export function resultsCsv(trials: readonly Trial[]): string {
  const parameters = [...new Set(trials.flatMap((trial) => Object.keys(trial.candidate.assignment)))];
  const header = [...trialColumns, ...parameters, ...measurementColumns.map(([name]) => name), 'failure', 'reason'];
  const rows = trials.flatMap((trial) => {
    const chosenFor = (index: number): Cell[] => [trial.number, trial.role, String(index === trial.chosen)];
    const values = parameters.map((name) => asCell(trial.candidate.assignment[name]));
    const failure = [trial.failure?.kind, trial.failure?.reason];
    if (trial.measurements.length === 0) {
      return [[...chosenFor(-1), ...values, ...measurementColumns.map(() => ''), ...failure]];
    }
    return trial.measurements.map((measurement, index) => [
      ...chosenFor(index),
      ...values,
      ...measurementColumns.map(([, read]) => read(measurement)),
      ...failure,
    ]);
  });
  return `${[header, ...rows].map((row) => row.map(quoted).join(',')).join('\r\n')}\r\n`;
}

const trialColumns = ['trial', 'role', 'chosen'];

const measurementColumns: readonly (readonly [string, (measurement: Measurement) => Cell])[] = [
  ['load_mode', (each) => each.level.mode],
  ['load_value', (each) => each.level.value],
  ['throughput_infer_per_s', (each) => each.throughput.value],
  ['throughput_low', (each) => each.throughput.low],
  ['throughput_high', (each) => each.throughput.high],
  ['latency_avg_ms', (each) => each.latencyMs.avg],
  ['latency_p50_ms', (each) => each.latencyMs.p50],
  ['latency_p90_ms', (each) => each.latencyMs.p90],
  ['latency_p95_ms', (each) => each.latencyMs.p95],
  ['latency_p99_ms', (each) => each.latencyMs.p99],
  ['stable', (each) => String(each.stable)],
  ['windows', (each) => each.windows],
  ['duration_ms', (each) => each.durationMs],
  ['requests', (each) => each.requests],
  ['error_rate', (each) => each.errorRate],
  ['server_queue_us', (each) => each.server?.queueUs],
  ['server_compute_input_us', (each) => each.server?.computeInputUs],
  ['server_compute_infer_us', (each) => each.server?.computeInferUs],
  ['server_compute_output_us', (each) => each.server?.computeOutputUs],
  [
    'mean_batch',
    (each) =>
      each.server && each.server.executionCount > 0 ? each.server.inferenceCount / each.server.executionCount : null,
  ],
  ['gpu_utilization_percent', (each) => each.device.gpuUtilizationPercent],
  ['gpu_memory_mib', (each) => each.device.gpuMemoryMiB],
  ['gpu_power_w', (each) => each.device.gpuPowerW],
  ['cpu_utilization_percent', (each) => each.device.cpuUtilizationPercent],
  ['client_cpu_us_per_request', (each) => each.client.cpuUsPerRequest],
  ['client_bound', (each) => String(each.client.bound)],
  ['achieved_rate', (each) => each.openLoop?.achievedRate],
  ['late_sends', (each) => each.openLoop?.lateSends],
  ['dropped_sends', (each) => each.openLoop?.droppedSends],
  ['scheduled_latency_p50_ms', (each) => each.openLoop?.scheduledLatencyMs.p50],
  ['scheduled_latency_p99_ms', (each) => each.openLoop?.scheduledLatencyMs.p99],
];

const asCell = (value: Json | undefined): Cell =>
  value === undefined || value === null ? '' : typeof value === 'object' ? JSON.stringify(value) : String(value);

/** RFC 4180. A text that a spreadsheet would take for a formula gets a quote mark in front. */
function quoted(cell: Cell): string {
  if (typeof cell === 'number') return Number.isFinite(cell) ? String(cell) : '';
  const text = cell ?? '';
  const safe = /^[=+\-@\t\r]/.test(text) && !Number.isFinite(Number(text)) ? `'${text}` : text;
  return /[",\r\n]/.test(safe) ? `"${safe.replaceAll('"', '""')}"` : safe;
}
