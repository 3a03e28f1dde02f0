import type { TokenSimulation } from './token-tally.ts';

/**
 * The limits of a good request, in nanoseconds; an absent one is no limit. `itlNs`: the longest
 * allowed gap.
 */
export interface RequestLimits {
  readonly ttftNs?: number;
  readonly itlNs?: number;
  readonly tpotNs?: number;
  readonly e2eNs?: number;
}

/**
 * Returns for each simulated request the largest ratio of one of its times to the limit: up to 1 it
 * is good. 0 without limits.
 */
export const limitRatios = (
  simulation: Pick<TokenSimulation, 'ttftNs' | 'longestGapNs' | 'tpotNs' | 'endToEndNs'>,
  { ttftNs, itlNs, tpotNs, e2eNs }: RequestLimits,
): number[] => {
  const ratio = (ns: number | undefined, limitNs: number | undefined): number =>
    limitNs === undefined || ns === undefined || Number.isNaN(ns) ? 0 : ns / limitNs;
  return simulation.ttftNs.map((ns, request) =>
    Math.max(
      ratio(ns, ttftNs),
      ratio(simulation.longestGapNs[request], itlNs),
      ratio(simulation.tpotNs[request], tpotNs),
      ratio(simulation.endToEndNs[request], e2eNs),
    ),
  );
};
