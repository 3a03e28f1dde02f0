import type { Observation } from '../../../queueing/observation.ts';
import type { ServiceLaw } from '../../../queueing/service-law.ts';
import { enoughRequests, simulate } from '../../../queueing/simulate.ts';

/** An observation and the law that its choice seems to have. */
export interface Explained {
  readonly observation: Observation;
  readonly law: ServiceLaw;
}

/** Time that the server's front end takes for each request, one after the other, and what is left of the round trip. */
export interface FrontEnd {
  readonly frontEndNs: number;
  readonly roundTripNs: number;
}

/** Microseconds that are tried; the longer ones only as far as the observed rates allow, and the longest that they do. */
const TRIED_US = [0, 5, 10, 14, 20, 28, 34, 40, 57, 80, 113, 160, 226, 320, 450, 640, 900, 1280];
/** Around the best of them. */
const FINER = [0.8, 0.87, 0.93, 1.07, 1.15, 1.24];
/** No front end can be busier than always: rates seen are at most this part of what it can do. */
const MOST_BUSY = 1.02;
const MOST_SIMULATED = 8;
const REQUESTS = 300;
const MOST_WARM_UP = 200;
/** One disturbed observation shall not decide. */
const MOST_MISS = 0.25;
/** What a front end must explain beside: hardly any is the usual case. */
const PRIOR_WEIGHT = 0.004;

/** The front end with which simulated rates and median latencies are nearest to the observed ones. */
export function fitFrontEnd(explained: readonly Explained[], roundTripNs: number): FrontEnd {
  const fastest = Math.max(...explained.map(({ observation }) => observation.requestsPerSecond));
  const chosen = [...explained]
    .sort((a, b) => b.observation.requestsPerSecond - a.observation.requestsPerSecond)
    .slice(0, MOST_SIMULATED);
  const longestUs = 1e6 / (MOST_BUSY * fastest);
  const frontEndOf = (us: number): FrontEnd => ({
    frontEndNs: us * 1e3,
    roundTripNs: Math.max(0, roundTripNs - us * 1e3),
  });
  const lossOf = (us: number): number => {
    const misses = chosen.reduce((sum, each) => sum + miss(each, frontEndOf(us)), 0);
    return misses / chosen.length + PRIOR_WEIGHT * Math.log2(1 + us / 20);
  };
  const best = (tried: readonly number[]): number =>
    tried.map((us) => ({ us, loss: lossOf(us) })).reduce((least, each) => (each.loss < least.loss ? each : least)).us;
  const possible = (us: number): boolean => us < longestUs;
  const rough = best([...TRIED_US.filter(possible), longestUs]);
  return frontEndOf(best([rough, ...FINER.map((factor) => rough * factor).filter(possible)]));
}

function miss({ observation, law }: Explained, { frontEndNs, roundTripNs }: FrontEnd): number {
  const { policy, concurrency, samplesPerRequest, requestsPerSecond, latencyNs } = observation;
  const traffic = { kind: 'closed', concurrency, samplesPerRequest, roundTripNs } as const;
  const extent = {
    warmUpRequests: Math.min(MOST_WARM_UP, 2 * concurrency),
    requests: enoughRequests(REQUESTS, concurrency),
    seed: 1,
  };
  const found = simulate(policy, { ...law, cv: 0.05, frontEndNs }, traffic, extent);
  const rate = Math.log(found.requestsPerSecond / requestsPerSecond);
  const middle = Math.log(found.latencyNs.p50 / latencyNs.p50);
  return Math.min(MOST_MISS, rate ** 2) + 0.3 * Math.min(MOST_MISS, middle ** 2);
}
