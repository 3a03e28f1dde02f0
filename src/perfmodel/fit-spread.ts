import type { ServiceLaw } from '#queueing/service-law.ts';
import { simulate } from '#queueing/simulate.ts';
import type { Observation } from './observation.ts';
import { playedAgain, summedMisses } from './played-again.ts';

const SPREADS = [0, 0.02, 0.05, 0.1, 0.15, 0.2, 0.3, 0.4];
/** Observations that are simulated, spread evenly over their list. */
const MAX_SIMULATED = 9;
const REQUESTS = 600;
const SEED = 1;
/**
 * The scale of the robust loss, as a ratio's logarithm: larger misses count less than in
 * proportion, so that one disturbed measurement does not decide.
 */
export const USUAL_MISS = 0.3;
/**
 * Coefficients of variation above this are rare a priori; a larger one needs several observations.
 */
export const USUAL_SPREAD = 0.1;
const PRIOR_WEIGHT = 2;

/** An observation with its service law, without the spread. */
export interface LawObservation {
  readonly law: ServiceLaw;
  readonly observation: Observation;
}

/**
 * Returns the coefficient of variation of execution times whose simulated p99s are nearest to the
 * observed ones. Statistics hold only means, so it has the tails of client and network in it too.
 */
export function fitSpread(explained: readonly LawObservation[]): number {
  const chosen = spreadOver(explained, MAX_SIMULATED);
  let best = 0;
  let least = Number.POSITIVE_INFINITY;
  for (const cv of SPREADS) {
    const surprise = PRIOR_WEIGHT * Math.log(Math.max(1, cv / USUAL_SPREAD)) ** 2;
    const loss =
      surprise +
      summedMisses(
        chosen,
        ({ law, observation }) => miss({ ...law, cv }, observation),
        (sum) => sum + surprise >= least,
      );
    if (loss >= least) continue;
    least = loss;
    best = cv;
  }
  return best;
}

/** Returns the robust loss of one observation's p99. */
function miss(law: ServiceLaw, observation: Observation): number {
  const { policy, roundTripNs, latencyNs } = observation;
  const lengths = { mostWarmUp: Number.POSITIVE_INFINITY, requests: REQUESTS, seed: SEED };
  const { traffic, extent } = playedAgain(observation, Math.max(0, roundTripNs), lengths);
  const { p99 } = simulate(policy, law, traffic, extent).latencyNs;
  return Math.log1p((Math.log(p99 / latencyNs.p99) / USUAL_MISS) ** 2);
}

function spreadOver<T>(items: readonly T[], most: number): T[] {
  if (items.length <= most) return [...items];
  return Array.from({ length: most }, (_, index) => items[Math.floor((index * items.length) / most)] as T);
}
