import { MS_PER_S, NS_PER_S, NS_PER_US } from '#base/units.ts';
import type { ScrapedSample } from '#profiler/devices/prometheus.ts';
import type { BatchStatistics, ModelStatistics, StatisticDuration } from '#triton/types.ts';
import type { CounterReading } from './readings.ts';

/**
 * Triton's counters of a model, as its metrics page names them (the page "Metrics" of its guide).
 */
export const counterMetrics = {
  success: 'nv_inference_request_success',
  failure: 'nv_inference_request_failure',
  inferences: 'nv_inference_count',
  executions: 'nv_inference_exec_count',
  requestUs: 'nv_inference_request_duration_us',
  queueUs: 'nv_inference_queue_duration_us',
  inputUs: 'nv_inference_compute_input_duration_us',
  inferUs: 'nv_inference_compute_infer_duration_us',
  outputUs: 'nv_inference_compute_output_duration_us',
} as const;

export type CounterName = keyof typeof counterMetrics;

/** A counter of one model, version and device over time. */
export interface ScrapedCounter {
  readonly counter: CounterName;
  /** The server that it was read of, such as `10.0.0.7:8002`. */
  readonly instance: string;
  readonly model: string;
  readonly version: string;
  /** By seconds since 1970. */
  readonly values: ReadonlyMap<number, number>;
}

/** Returns the counters on saved pages of one server. Other metrics are left out. */
export function toScrapedCounters(samples: readonly ScrapedSample[]): readonly ScrapedCounter[] {
  return (Object.keys(counterMetrics) as CounterName[]).flatMap((counter) => {
    const all = samples.filter(({ name, value }) => name === counterMetrics[counter] && value >= 0);
    const byLabels = Map.groupBy(all, ({ labels }) => JSON.stringify(Object.entries(labels).sort()));
    return [...byLabels.values()].map((series): ScrapedCounter => {
      const { model = '', version = '' } = series[0]?.labels ?? {};
      const inTime = series.toSorted((a, b) => a.atMs - b.atMs);
      const values = inTime.map(({ atMs, value }) => [atMs / MS_PER_S, value] as const);
      return { counter, instance: '', model, version, values: new Map(values) };
    });
  });
}

/** The readings of a server. */
export interface InstanceReadings {
  readonly instance: string;
  /** Requests that it answered between the first reading and the last one. */
  readonly requests: number;
  readonly readings: readonly CounterReading[];
}

/**
 * Returns the readings of each server, the busiest first. Counters of several devices are added up.
 * The metrics have no executions by batch size: those of an interval count as executions of its
 * mean batch, with the mean time of its requests.
 */
export function toInstanceReadings(series: readonly ScrapedCounter[]): readonly InstanceReadings[] {
  return [...Map.groupBy(series, ({ instance }) => instance)]
    .map(([instance, all]) => ({ instance, requests: countRequests(all), readings: toReadings(all) }))
    .toSorted((a, b) => b.requests - a.requests);
}

const countRequests = (series: readonly ScrapedCounter[]): number =>
  series
    .filter(({ counter }) => counter === 'success')
    .reduce((sum, { values }) => {
      const counts = [...values.values()];
      return (
        sum + counts.slice(1).reduce((grown, count, index) => grown + Math.max(0, count - (counts[index] as number)), 0)
      );
    }, 0);

function toReadings(series: readonly ScrapedCounter[]): readonly CounterReading[] {
  const seconds = [...new Set(series.flatMap(({ values }) => [...values.keys()]))].sort((a, b) => a - b);
  const models = [...Map.groupBy(series, ({ model, version }) => JSON.stringify([model, version])).values()];
  const byModel = models.map((all) => listStatistics(all, seconds));
  return seconds.map((second, index) => ({
    atNs: second * NS_PER_S,
    statistics: byModel.flatMap((statistics) => statistics[index] ?? []),
  }));
}

type Counts = Readonly<Record<CounterName, number>>;

/** Returns the statistics of a model at each time; null where it had no counter. */
function listStatistics(series: readonly ScrapedCounter[], seconds: readonly number[]): (ModelStatistics | null)[] {
  const { model, version } = series[0] as ScrapedCounter;
  const ofCounter = Map.groupBy(series, ({ counter }) => counter);
  const readCount = (counter: CounterName, second: number): number =>
    (ofCounter.get(counter) ?? []).reduce((sum, { values }) => sum + (values.get(second) ?? 0), 0);
  const batches = new Map<number, StatisticDuration>();
  let before: Counts | null = null;
  return seconds.map((second) => {
    if (!series.some(({ counter, values }) => counter === 'success' && values.has(second))) return null;
    const names = Object.keys(counterMetrics) as CounterName[];
    const counts = Object.fromEntries(names.map((name) => [name, readCount(name, second)])) as Counts;
    if (before) addExecutions(batches, before, counts);
    before = counts;
    return toStatistics(model, version, counts, batches);
  });
}

/** Adds the executions between two readings to those of their mean batch. */
function addExecutions(batches: Map<number, StatisticDuration>, before: Counts, after: Counts): void {
  const grown = (name: CounterName): number => after[name] - before[name];
  const [requests, executions] = [grown('success'), grown('executions')];
  // A restart: the counters begin anew.
  if (!(requests > 0 && executions > 0)) return;
  const size = Math.max(1, Math.round(grown('inferences') / executions));
  const perRequestUs = (grown('inputUs') + grown('inferUs') + grown('outputUs')) / requests;
  const { count, ns } = batches.get(size) ?? { count: 0, ns: 0 };
  batches.set(size, { count: count + executions, ns: ns + executions * Math.max(0, perRequestUs) * NS_PER_US });
}

function toStatistics(
  name: string,
  version: string,
  counts: Counts,
  batches: ReadonlyMap<number, StatisticDuration>,
): ModelStatistics {
  const duration = (us: number): StatisticDuration => ({ count: counts.success, ns: us * NS_PER_US });
  const nothing: StatisticDuration = { count: 0, ns: 0 };
  return {
    name,
    version,
    lastInferenceMs: 0,
    inferenceCount: counts.inferences,
    executionCount: counts.executions,
    success: duration(counts.requestUs),
    fail: { count: counts.failure, ns: 0 },
    queue: duration(counts.queueUs),
    computeInput: duration(counts.inputUs),
    computeInfer: duration(counts.inferUs),
    computeOutput: duration(counts.outputUs),
    cacheHit: nothing,
    cacheMiss: nothing,
    batchStats: [...batches].map(
      ([batchSize, computeInfer]): BatchStatistics => ({
        batchSize,
        computeInput: { count: computeInfer.count, ns: 0 },
        computeInfer,
        computeOutput: { count: computeInfer.count, ns: 0 },
      }),
    ),
    memoryUsage: [],
  };
}
