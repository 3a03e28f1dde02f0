import type { LoadLevel } from '#loadgen/types.ts';
import type { SequenceLengths } from '#queueing/continuous/lengths.ts';
import { simulateContinuous } from '#queueing/continuous/simulate-continuous.ts';
import type { TokenSimulation } from '#queueing/continuous/token-tally.ts';
import type { Traffic } from '#queueing/traffic.ts';
import type { Choice } from '../modelled-config.ts';
import type { EngineLaw } from './step-law-parameters.ts';

/** The length of a simulation. */
export interface EngineDraw {
  readonly seed: number;
  /** The least number of requests to count; more with many at once. */
  readonly requests: number;
}

/** The least number of counted rounds of all requests in flight. */
const ROUNDS = 3;
/**
 * The share of a request's time outside the engine that differs from request to request,
 * exponentially. Without it requests that are answered together would come back at the same
 * instant, and the engine's step would have all of them: in real engines the first one to come back
 * starts a step of its own, and the others join the next one.
 */
const VARYING_SHARE = 0.25;
/**
 * Requests of a warm-up: rounds of all in flight, up to a maximum; and the number before a rate is
 * steady.
 */
const WARM_UP = { rounds: 1.5, most: 400, ofRate: 40 };

/** Returns a closed loop, of which a part of the time outside the engine varies. */
export function closedTraffic(concurrency: number, roundTripNs: number): Traffic {
  const jitterNs = VARYING_SHARE * roundTripNs;
  return { kind: 'closed', concurrency, roundTripNs: roundTripNs - jitterNs, jitterNs };
}

/** The arrivals: a level, or requests at these times, all of which are counted. */
export type EngineLoad = Pick<LoadLevel, 'mode' | 'value'> | { readonly arrivalsNs: Float64Array };

/**
 * Simulates a choice's engines under a load, each with its share of it; the figures are those of
 * one engine. null if the KV cache has no place for the longest request.
 */
export function simulateEngine(
  { continuous: configured, policy }: Choice,
  load: EngineLoad,
  law: EngineLaw,
  lengths: SequenceLengths,
  { seed, requests }: EngineDraw,
): TokenSimulation | null {
  if (!configured) return null;
  const { roundTripNs, isStatic, ...steps } = law;
  const continuous = isStatic ? { ...configured, isStatic } : configured;
  const { kvCacheTokens } = continuous;
  if (kvCacheTokens !== null && Math.ceil(lengths.input.max) + Math.ceil(lengths.output.max) > kvCacheTokens)
    return null;
  if ('arrivalsNs' in load) {
    const arrivalsNs = load.arrivalsNs.filter((_, index) => index % policy.instances === 0);
    const traffic: Traffic = { kind: 'open', arrivalsNs, roundTripNs };
    return simulateContinuous(continuous, steps, traffic, lengths, {
      warmUpRequests: 0,
      requests: arrivalsNs.length,
      seed,
    });
  }
  const { mode, value } = load;
  if (mode === 'concurrency') {
    const concurrency = Math.max(1, Math.ceil(value / policy.instances));
    const warmUpRequests = Math.min(WARM_UP.most, Math.ceil(WARM_UP.rounds * concurrency));
    const counted = Math.max(requests, ROUNDS * concurrency);
    const traffic = closedTraffic(concurrency, roundTripNs);
    return simulateContinuous(continuous, steps, traffic, lengths, { warmUpRequests, requests: counted, seed });
  }
  const perSecond = value / policy.instances;
  const traffic: Traffic = { kind: 'rate', perSecond, distribution: 'constant', roundTripNs };
  return simulateContinuous(continuous, steps, traffic, lengths, { warmUpRequests: WARM_UP.ofRate, requests, seed });
}
