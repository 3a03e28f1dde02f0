import { confidenceFactor, ratioOfBatches } from './batch-means.ts';
import type { LatencyHistogram } from './histogram.ts';
import type { Interval } from './interval.ts';

/** With fewer requests beyond the quantile, the spread between batches says little about them. */
const LEAST_IN_TAIL = 10;

/**
 * Returns the quantile `p` (0 to 1) of all latencies with its 95 % interval, in nanoseconds. `whole` is the sum of the consecutive
 * `batches`.
 *
 * Woodruff's method: the share of requests above the quantile is estimated by batch means, which include the correlation of neighbouring
 * requests, and its interval is mapped through the quantile function of the whole. It is never narrower than for equally many independent
 * requests (the binomial error behind order-statistics intervals). Where too few requests bound the quantile from above, `high` lies as far
 * beyond the largest latency as that lies beyond the quantile.
 */
export function quantileInterval(batches: readonly LatencyHistogram[], whole: LatencyHistogram, p: number): Interval {
  const value = whole.quantileNs(p);
  if (whole.count === 0) return { value: 0, low: 0, high: 0 };
  const above = ratioOfBatches(
    batches.map((batch) => batch.countAbove(value)),
    batches.map((batch) => batch.count),
  );
  const independent = Math.sqrt((p * (1 - p)) / whole.count);
  const half = confidenceFactor(above.degrees) * Math.max(above.standardError, independent);
  const short = p + half >= 1 || whole.count * (1 - p) < LEAST_IN_TAIL;
  return {
    value,
    low: p - half <= 0 ? whole.minNs : whole.quantileNs(p - half),
    high: short ? 2 * whole.maxNs - value : whole.quantileNs(p + half),
  };
}
