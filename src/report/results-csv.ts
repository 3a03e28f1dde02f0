import type { Json } from '../base/json.ts';
import type { Measurement } from '../profiler/measurement.ts';
import type { Point } from '../study/ranking.ts';
import type { StudyState } from '../study/state.ts';
import type { Trial } from '../study/types.ts';
import { type Cell, csvText } from './csv.ts';

/**
 * Every measurement of every trial, those of the final after those of the search, and every failed trial, one row each; the
 * columns are the same in every run but for the parameters.
 */
export function resultsCsv({ trials, finals }: Pick<StudyState, 'trials' | 'finals'>): string {
  const parameters = parametersOf(trials);
  const header = [...trialColumns, ...parameters, ...measurementColumns.map(([name]) => name), 'failure', 'reason'];
  const rows = trials.flatMap((trial) => {
    const row = (round: Cell, isChosen: boolean, figures: readonly Cell[]): Cell[] => [
      ...[trial.number, trial.role, round, String(isChosen)],
      ...valuesOf(trial, parameters),
      ...figures,
      ...[trial.failure?.kind, trial.failure?.reason],
    ];
    if (trial.measurements.length === 0) return [row('', false, nothing)];
    return [
      ...trial.measurements.map((each, index) => row('', index === trial.chosen, figuresOf(each))),
      ...finals
        .filter((final) => final.trial === trial.number)
        .map(({ round, measurement }) => row(round, false, figuresOf(measurement))),
    ];
  });
  return csvText([header, ...rows]);
}

/** The points of the Pareto front, by rising throughput; the figures in the columns of `resultsCsv`. */
export function paretoCsv(front: readonly Point[]): string {
  const parameters = parametersOf(front.map(({ trial }) => trial));
  const header = ['trial', 'role', 'feasible', ...parameters, ...measurementColumns.map(([name]) => name)];
  const rows = front.map(({ trial, measurement, feasible }) => [
    ...[trial.number, trial.role, String(feasible)],
    ...valuesOf(trial, parameters),
    ...figuresOf(measurement),
  ]);
  return csvText([header, ...rows]);
}

const parametersOf = (trials: readonly Trial[]): readonly string[] => [
  ...new Set(trials.flatMap((trial) => Object.keys(trial.candidate.assignment))),
];

const valuesOf = ({ candidate }: Trial, parameters: readonly string[]): readonly Cell[] =>
  parameters.map((name) => asCell(candidate.assignment[name]));

const figuresOf = (measurement: Measurement): readonly Cell[] =>
  measurementColumns.map(([, read]) => read(measurement));

/** A round of the final has its number; what the search measured has none. */
const trialColumns = ['trial', 'role', 'final_round', 'chosen'];

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

const nothing: readonly Cell[] = measurementColumns.map(() => '');

const asCell = (value: Json | undefined): Cell =>
  value === undefined || value === null ? '' : typeof value === 'object' ? JSON.stringify(value) : String(value);
