import { enoughRequests, type SimulationOptions } from '#queueing/simulate.ts';
import type { Traffic } from '#queueing/traffic.ts';
import type { Observation } from './observation.ts';

interface Lengths {
  /** The most requests of a closed loop's warm-up. */
  readonly mostWarmUp: number;
  /** The least number of requests of a closed loop to count. */
  readonly requests: number;
  readonly seed: number;
}

/**
 * Returns the sum of the misses, each at least 0; Infinity once `isTooMuch` is true for the sum so
 * far. Further misses cannot lower it, and each takes a simulation.
 */
export function summedMisses<T>(
  all: readonly T[],
  computeMiss: (each: T) => number,
  isTooMuch: (sum: number) => boolean,
): number {
  let sum = 0;
  for (const each of all) {
    sum += computeMiss(each);
    if (isTooMuch(sum)) return Number.POSITIVE_INFINITY;
  }
  return sum;
}

/**
 * Returns the traffic of an observation, to simulate it again: its arrivals if known, else a closed
 * loop.
 */
export function playedAgain(
  { arrivalsNs, concurrency, samplesPerRequest }: Observation,
  roundTripNs: number,
  { mostWarmUp, requests, seed }: Lengths,
): { readonly traffic: Traffic; readonly extent: SimulationOptions } {
  if (arrivalsNs)
    return {
      traffic: { kind: 'open', arrivalsNs, samplesPerRequest, roundTripNs },
      extent: { warmUpRequests: 0, requests: arrivalsNs.length, seed },
    };
  return {
    traffic: { kind: 'closed', concurrency, samplesPerRequest, roundTripNs },
    extent: {
      warmUpRequests: Math.min(mostWarmUp, 2 * concurrency),
      requests: enoughRequests(requests, concurrency),
      seed,
    },
  };
}
