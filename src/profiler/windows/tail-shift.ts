import type { LatencyHistogram } from '../../stats/histogram.ts';

/** How requests met the pauses of the sending threads. */
export interface PausedTraffic {
  /** 0 to 1. */
  readonly percentile: number;
  /** Requests that a pause of this length can have held up, at most. */
  readonly hitsOf: (lengthNs: number) => number;
  /** Pauses that can have held up one and the same request: at its reply, and where it has a time due also before its sending. */
  readonly pausesPerRequest: number;
}

/** The rounding error of sums of fractions. */
const ROUNDING = 1e-6;

/**
 * Returns an upper bound in nanoseconds on how far pauses of these lengths can have raised the percentile of the latencies.
 *
 * For any length m: pauses up to m delayed a request by no more than m each; longer ones can have taken at most N requests, the sum of what
 * each can have hit, from the body into the tail. The latency whose rank is lower than the percentile's by N, less the delay of the short
 * ones, is then the least that the true percentile can be. The bound is the least over all m.
 */
export function tailShiftNs(
  pausesNs: readonly number[],
  latencies: LatencyHistogram,
  { percentile, hitsOf, pausesPerRequest }: PausedTraffic,
): number {
  if (pausesNs.length === 0 || latencies.count === 0) return 0;
  const ascending = pausesNs.toSorted((a, b) => a - b);
  const observedNs = latencies.quantileNs(percentile);
  const rank = Math.max(1, Math.round(percentile * latencies.count));
  let hits = ascending.reduce((sum, lengthNs) => sum + hitsOf(lengthNs), 0);
  let leastNs = Number.POSITIVE_INFINITY;
  for (const shortNs of [0, ...ascending]) {
    const delayNs = pausesPerRequest * shortNs;
    // Longer ones only add to the delay.
    if (delayNs >= leastNs) break;
    if (shortNs > 0) hits -= hitsOf(shortNs);
    const left = rank - Math.floor(hits + ROUNDING);
    if (left > 0) leastNs = Math.min(leastNs, delayNs + observedNs - latencies.quantileNs(left / latencies.count));
  }
  return Math.max(0, Math.min(leastNs, observedNs));
}
