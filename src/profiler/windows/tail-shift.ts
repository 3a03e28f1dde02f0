import type { LatencyHistogram } from '#stats/histogram.ts';

/** How requests met the pauses of the sending threads. */
export interface PausedTraffic {
  /** 0 to 1. */
  readonly percentile: number;
  /** The maximum number of requests that a pause of this length can have delayed. */
  readonly countHits: (lengthNs: number) => number;
  /**
   * Pauses that can have delayed the same request: one at its reply and, if it has a due time, one
   * before its sending.
   */
  readonly pausesPerRequest: number;
}

/** The rounding error of sums of fractions. */
const ROUNDING = 1e-6;

/**
 * Returns an upper bound, in nanoseconds, on how far pauses of these lengths can have raised the
 * latency percentile.
 *
 * For any length m: pauses up to m delayed a request by at most m each. Longer pauses can have
 * moved at most N requests from the body into the tail, where N is the sum of the requests that
 * each can have hit. The true percentile is then at least the latency at the percentile's rank
 * minus N, less the delay of the short pauses. The bound is the minimum over all m.
 */
export function tailShiftNs(
  pausesNs: readonly number[],
  latencies: LatencyHistogram,
  { percentile, countHits, pausesPerRequest }: PausedTraffic,
): number {
  if (pausesNs.length === 0 || latencies.count === 0) return 0;
  const ascending = pausesNs.toSorted((a, b) => a - b);
  const observedNs = latencies.quantileNs(percentile);
  const rank = Math.max(1, Math.round(percentile * latencies.count));
  let hits = ascending.reduce((sum, lengthNs) => sum + countHits(lengthNs), 0);
  let leastNs = Number.POSITIVE_INFINITY;
  for (const shortNs of [0, ...ascending]) {
    const delayNs = pausesPerRequest * shortNs;
    // Longer ones only increase the delay.
    if (delayNs >= leastNs) break;
    if (shortNs > 0) hits -= countHits(shortNs);
    const left = rank - Math.floor(hits + ROUNDING);
    if (left > 0) leastNs = Math.min(leastNs, delayNs + observedNs - latencies.quantileNs(left / latencies.count));
  }
  return Math.max(0, Math.min(leastNs, observedNs));
}
