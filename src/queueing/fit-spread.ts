import type { Observation } from './observation.ts';
import type { ServiceLaw } from './service-law.ts';
import { enoughRequests, simulate } from './simulate.ts';

const SPREADS = [0, 0.02, 0.05, 0.1, 0.15, 0.2, 0.3, 0.4];
/** Simulations are cheap, but a study has many observations: those spread over their list stand for all. */
const MOST_SIMULATED = 9;
const REQUESTS = 600;
const SEED = 1;
/** One disturbed measurement shall not decide: misses beyond this count less and less. A logarithm of a ratio. */
const USUAL_MISS = 0.3;
/** Spreads above this are seldom; a larger one needs several observations to be believed. */
const USUAL_SPREAD = 0.1;
const PRIOR_WEIGHT = 2;

/** An observation, and the law of its executions but for their spread. */
export interface Explained {
  readonly law: ServiceLaw;
  readonly observation: Observation;
}

/**
 * The coefficient of variation with which simulated p99s are nearest to the observed ones. Statistics hold only means, so
 * the tail is all that tells of it; it stands for the tails of client and network too.
 */
export function fitSpread(explained: readonly Explained[]): number {
  const chosen = spreadOver(explained, MOST_SIMULATED);
  let best = 0;
  let least = Number.POSITIVE_INFINITY;
  for (const cv of SPREADS) {
    const misses = chosen.reduce((sum, { law, observation }) => sum + miss({ ...law, cv }, observation), 0);
    const loss = misses + PRIOR_WEIGHT * Math.log(Math.max(1, cv / USUAL_SPREAD)) ** 2;
    if (loss >= least) continue;
    least = loss;
    best = cv;
  }
  return best;
}

/** How badly the simulated p99 misses the observed one. */
function miss(law: ServiceLaw, observation: Observation): number {
  const { policy, concurrency, samplesPerRequest, roundTripNs, latencyNs } = observation;
  const traffic = { kind: 'closed', concurrency, samplesPerRequest, roundTripNs: Math.max(0, roundTripNs) } as const;
  const extent = { warmUpRequests: 2 * concurrency, requests: enoughRequests(REQUESTS, concurrency), seed: SEED };
  const { p99 } = simulate(policy, law, traffic, extent).latencyNs;
  return Math.log1p((Math.log(p99 / latencyNs.p99) / USUAL_MISS) ** 2);
}

function spreadOver<T>(items: readonly T[], most: number): T[] {
  if (items.length <= most) return [...items];
  return Array.from({ length: most }, (_, index) => items[Math.floor((index * items.length) / most)] as T);
}
