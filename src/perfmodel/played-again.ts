import { enoughRequests, type SimulationOptions } from '../queueing/simulate.ts';
import type { Traffic } from '../queueing/traffic.ts';
import type { Observation } from './observation.ts';

interface Lengths {
  /** Requests of the warm-up of a closed loop, at most. */
  readonly mostWarmUp: number;
  /** Requests of a closed loop to count, at least. */
  readonly requests: number;
  readonly seed: number;
}

/** Returns the traffic of an observation, to simulate it again: its arrivals where they are known, else a closed loop. */
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
