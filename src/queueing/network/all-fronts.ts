import type { SimulatedClients } from '../tally.ts';

/** Figures of the requests of all fronts together. */
export interface AllFronts extends Pick<SimulatedClients, 'requestsPerSecond'> {
  readonly meanNs: number;
  /** Returns the latency that this share of the requests, 0 to 1, does not exceed. */
  quantileNs(share: number): number;
}

/**
 * Returns the figures of all requests, weighting each front by its rate: a simulation may count
 * more requests of one front than of another.
 */
export function allFronts(fronts: readonly Pick<SimulatedClients, 'requestsPerSecond' | 'latenciesNs'>[]): AllFronts {
  const all = fronts
    .flatMap(({ latenciesNs, requestsPerSecond }) =>
      Array.from(latenciesNs, (ns) => ({ ns, weight: requestsPerSecond / latenciesNs.length })),
    )
    .sort((a, b) => a.ns - b.ns);
  const requestsPerSecond = fronts.reduce((sum, front) => sum + front.requestsPerSecond, 0);
  return {
    requestsPerSecond,
    meanNs: all.reduce((sum, { ns, weight }) => sum + ns * weight, 0) / requestsPerSecond,
    quantileNs(share) {
      let left = share * requestsPerSecond * (1 - 1e-12);
      for (const { ns, weight } of all) {
        left -= weight;
        if (left <= 0) return ns;
      }
      return all.at(-1)?.ns ?? 0;
    },
  };
}
