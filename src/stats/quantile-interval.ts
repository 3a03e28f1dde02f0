import { confidenceFactor, ratioOfBatches } from './batch-means.ts';
import type { LatencyHistogram } from './histogram.ts';
import type { Interval } from './interval.ts';

/**
 * The least number of requests beyond the quantile: with fewer, the spread between batches says
 * little about them.
 */
const MIN_IN_TAIL = 10;

/** The latencies of one stream of requests among several. */
export interface LatencyStream {
  /** In consecutive batches. */
  readonly batches: readonly LatencyHistogram[];
  /** Its part of all requests, 0 to 1. */
  readonly share: number;
}

/**
 * Returns the quantile `p` (0 to 1) of all latencies with its 95 % interval, in nanoseconds.
 * `whole` is the sum of the consecutive `batches`.
 *
 * Woodruff's method: the share of requests above the quantile is estimated by batch means, which
 * include the correlation of neighbouring requests, and its interval is mapped through the quantile
 * function of the whole. It is never narrower than for the same number of independent requests (the
 * binomial error behind order-statistics intervals). If too few requests bound the quantile from
 * above, `high` lies as far beyond the largest latency as that lies beyond the quantile.
 */
export const quantileInterval = (batches: readonly LatencyHistogram[], whole: LatencyHistogram, p: number): Interval =>
  mixedQuantileInterval([{ batches, share: 1 }], whole, p);

/**
 * Returns the same for several streams of requests, given `whole` with the latencies of each stream
 * weighted by its share. The errors of the streams' shares above the quantile add in quadrature;
 * the stream with the fewest batches gives the degrees of freedom.
 */
export function mixedQuantileInterval(streams: readonly LatencyStream[], whole: LatencyHistogram, p: number): Interval {
  const value = whole.quantileNs(p);
  if (whole.count === 0) return { value: 0, low: 0, high: 0 };
  const estimates = streams.map(({ batches, share }) => {
    const counts = batches.map((batch) => batch.count);
    const { standardError, degrees } = ratioOfBatches(
      batches.map((batch) => batch.countAbove(value)),
      counts,
    );
    const requests = counts.reduce((sum, count) => sum + count, 0);
    return {
      requests,
      degrees,
      error: share * standardError,
      independent: share * Math.sqrt((p * (1 - p)) / requests),
    };
  });
  const seen = estimates.filter(({ requests }) => requests > 0);
  const requests = seen.reduce((sum, each) => sum + each.requests, 0);
  const error = Math.hypot(...seen.map((each) => each.error));
  const independent = Math.hypot(...seen.map((each) => each.independent));
  const half = confidenceFactor(Math.min(...seen.map(({ degrees }) => degrees))) * Math.max(error, independent);
  const short = p + half >= 1 || requests * (1 - p) < MIN_IN_TAIL;
  return {
    value,
    low: p - half <= 0 ? whole.minNs : whole.quantileNs(p - half),
    high: short ? 2 * whole.maxNs - value : whole.quantileNs(p + half),
  };
}
