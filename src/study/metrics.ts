import { TrituneError } from '../base/errors.ts';
import { latenciesOf } from '../profiler/latency-summary.ts';
import type { Measurement } from '../profiler/measurement.ts';
import type { Candidate } from '../space/types.ts';
import { instancesOf } from '../triton/instances.ts';

/** What objectives and constraints can be about. */
export interface Metric {
  readonly name: string;
  /** The unit of `read` and of a value written without one. */
  readonly unit: string;
  /** Spellings that a value may end with, and what one of them is in `unit`. */
  readonly units: Readonly<Record<string, number>>;
  readonly better: 'higher' | 'lower';
  /** undefined when the measurement lacks it. */
  read(measurement: Measurement, candidate: Candidate): number | undefined;
}

const ms = { us: 1e-3, ms: 1, s: 1e3 };
const percent = { '%': 1 };
const none = {};

const latency = (name: string, read: (measurement: Measurement) => number | undefined): Metric => ({
  name,
  unit: 'ms',
  units: ms,
  better: 'lower',
  read,
});

const table: readonly Metric[] = [
  {
    name: 'throughput',
    unit: 'infer/s',
    units: { 'infer/s': 1, '/s': 1 },
    better: 'higher',
    read: (measurement) => measurement.throughput.value,
  },
  latency('latency', (measurement) => measurement.budgetLatencyMs.value),
  latency('latency-avg', (measurement) => latenciesOf(measurement).avg),
  latency('latency-p50', (measurement) => latenciesOf(measurement).p50),
  latency('latency-p90', (measurement) => latenciesOf(measurement).p90),
  latency('latency-p95', (measurement) => latenciesOf(measurement).p95),
  latency('latency-p99', (measurement) => latenciesOf(measurement).p99),
  latency('latency-max', (measurement) => latenciesOf(measurement).max),
  latency('queue-time', (measurement) => (measurement.server ? measurement.server.queueUs / 1e3 : undefined)),
  latency('compute-time', (measurement) => {
    const server = measurement.server;
    return server ? (server.computeInputUs + server.computeInferUs + server.computeOutputUs) / 1e3 : undefined;
  }),
  {
    name: 'gpu-memory',
    unit: 'MiB',
    units: { MiB: 1, GiB: 1024, MB: 1e6 / 2 ** 20, GB: 1e9 / 2 ** 20 },
    better: 'lower',
    read: (measurement) => measurement.device.gpuMemoryMiB,
  },
  {
    name: 'gpu-utilization',
    unit: '%',
    units: percent,
    better: 'lower',
    read: (measurement) => measurement.device.gpuUtilizationPercent,
  },
  {
    name: 'gpu-power',
    unit: 'W',
    units: { W: 1, kW: 1e3 },
    better: 'lower',
    read: (measurement) => measurement.device.gpuPowerW,
  },
  {
    name: 'cpu-utilization',
    unit: '%',
    units: percent,
    better: 'lower',
    read: (measurement) => measurement.device.cpuUtilizationPercent,
  },
  {
    name: 'error-rate',
    unit: 'fraction',
    units: { '%': 0.01 },
    better: 'lower',
    read: (measurement) => measurement.errorRate,
  },
  {
    name: 'instances',
    unit: 'instances',
    units: none,
    better: 'lower',
    read: (_, candidate) => instancesOf(candidate.config),
  },
  {
    name: 'max-batch-size',
    unit: 'samples',
    units: none,
    better: 'lower',
    read: (_, candidate) => candidate.config.max_batch_size ?? 0,
  },
];

export const metricNames: readonly string[] = table.map((metric) => metric.name);

/** Errors: USAGE for a name that is none. */
export function metricNamed(name: string): Metric {
  const found = table.find((metric) => metric.name === name);
  if (found) return found;
  throw new TrituneError('USAGE', `there is no metric '${name}'`, `the metrics are ${metricNames.join(', ')}`);
}

/** The metric's value when the measurement has a usable one, else undefined. Never a zero in place of a missing value. */
export function readMetric(name: string, measurement: Measurement, candidate: Candidate): number | undefined {
  const value = metricNamed(name).read(measurement, candidate);
  return typeof value === 'number' && Number.isFinite(value) ? value : undefined;
}
