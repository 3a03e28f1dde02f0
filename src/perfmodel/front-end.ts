import type { ServiceLaw } from '#queueing/service-law.ts';
import { simulate } from '#queueing/simulate.ts';
import { type Observation, seenExecutions } from './observation.ts';
import { WHOLE, type WithoutParts } from './parts.ts';
import { playedAgain, summedMisses } from './played-again.ts';

/** An observation with the service law of its choice. */
export interface ChoiceObservation {
  readonly observation: Observation;
  readonly law: ServiceLaw;
}

/** The ways of a request outside its execution. */
export interface FrontEnd {
  /** Time that the server's front end takes for each request, serially. */
  readonly frontEndNs: number;
  /** The rest of the round trip. */
  readonly roundTripNs: number;
}

/** Front-end times to try first, in microseconds, … */
const TRIED_US = [0, 5, 10, 14, 20, 28, 34, 40, 57, 80, 113, 160, 226, 320, 450, 640, 900, 1280];
/** … and factors around the best of them. */
const FINER = [0.8, 0.87, 0.93, 1.07, 1.15, 1.24];
/** Observed rates are at most this multiple of what a front end could serve. */
const MAX_BUSY = 1.02;
const MAX_SIMULATED = 8;
const REQUESTS = 300;
const MAX_WARM_UP = 200;
/** The largest miss of one figure that counts. */
const MAX_MISS = 0.25;
/** The prior against a slow front end, per doubling of 20 µs. */
const PRIOR_WEIGHT = 0.004;

/** A front-end time with its loss; Infinity if another's is less. */
interface Tried {
  readonly us: number;
  readonly loss: number;
}

/**
 * Fits the front end for which simulated rates, median latencies and batch sizes are nearest to the
 * observed ones.
 */
export function fitFrontEnd(
  explained: readonly ChoiceObservation[],
  roundTripNs: number,
  without: WithoutParts = WHOLE,
): FrontEnd {
  if (without.has('front-end')) return { frontEndNs: 0, roundTripNs };
  const fastest = Math.max(...explained.map(({ observation }) => observation.requestsPerSecond));
  const chosen = [...explained]
    .sort((a, b) => b.observation.requestsPerSecond - a.observation.requestsPerSecond)
    .slice(0, MAX_SIMULATED);
  const longestUs = 1e6 / (MAX_BUSY * fastest);
  const toFrontEnd = (us: number): FrontEnd => ({
    frontEndNs: us * 1e3,
    roundTripNs: Math.max(0, roundTripNs - us * 1e3),
  });
  const tried = (us: number, least: number): Tried => {
    const surprise = PRIOR_WEIGHT * Math.log2(1 + us / 20);
    const computeLoss = (misses: number): number => misses / chosen.length + surprise;
    const frontEnd = toFrontEnd(us);
    const misses = summedMisses(
      chosen,
      (each) => miss(each, frontEnd),
      (sum) => computeLoss(sum) >= least,
    );
    return { us, loss: computeLoss(misses) };
  };
  const best = (first: Tried, others: readonly number[]): Tried =>
    others.reduce((least, us) => {
      const each = tried(us, least.loss);
      return each.loss < least.loss ? each : least;
    }, first);
  const possible = (us: number): boolean => us < longestUs;
  const [first = longestUs, ...others] = [...TRIED_US.filter(possible), longestUs];
  const rough = best(tried(first, Number.POSITIVE_INFINITY), others);
  const { us } = best(rough, FINER.map((factor) => rough.us * factor).filter(possible));
  return toFrontEnd(us);
}

function miss({ observation, law }: ChoiceObservation, { frontEndNs, roundTripNs }: FrontEnd): number {
  const { policy, requestsPerSecond, latencyNs } = observation;
  const again = playedAgain(observation, roundTripNs, { mostWarmUp: MAX_WARM_UP, requests: REQUESTS, seed: 1 });
  const simulation = simulate(policy, { ...law, cv: 0.05, frontEndNs }, again.traffic, again.extent);
  const rate = Math.log(simulation.requestsPerSecond / requestsPerSecond);
  const middle = Math.log(simulation.latencyNs.p50 / latencyNs.p50);
  const batch = Math.log(
    simulation.meanBatchSize / (seenExecutions(observation)?.meanBatch ?? simulation.meanBatchSize),
  );
  return Math.min(MAX_MISS, rate ** 2) + 0.3 * Math.min(MAX_MISS, middle ** 2) + 0.3 * Math.min(MAX_MISS, batch ** 2);
}
