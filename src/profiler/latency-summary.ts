import { nsToMs } from '#base/units.ts';
import type { LatencyHistogram } from '#stats/histogram.ts';
import type { LatencySummary } from './figure-schemas.ts';
import type { Measurement } from './measurement.ts';

/** Returns zeros for an empty histogram. */
export function latencySummary(latencies: LatencyHistogram): LatencySummary {
  const percentile = (p: number): number => nsToMs(latencies.quantileNs(p / 100));
  return {
    avg: nsToMs(latencies.meanNs),
    p50: percentile(50),
    p90: percentile(90),
    p95: percentile(95),
    p99: percentile(99),
    max: nsToMs(latencies.maxNs),
    min: nsToMs(latencies.minNs),
    std: nsToMs(latencies.standardDeviationNs),
  };
}

/** Returns the given percentiles in milliseconds, keyed by number. */
export function latencyPercentiles(
  latencies: LatencyHistogram,
  percentiles: readonly number[],
): Readonly<Record<string, number>> {
  return Object.fromEntries(percentiles.map((p) => [`${p}`, nsToMs(latencies.quantileNs(p / 100))]));
}

/**
 * Returns latencies as a user of the model sees them: in an open loop they count from the due time
 * of a request.
 */
export const summarizeLatencies = (measurement: Pick<Measurement, 'openLoop' | 'latencyMs'>): LatencySummary =>
  measurement.openLoop?.scheduledLatencyMs ?? measurement.latencyMs;
