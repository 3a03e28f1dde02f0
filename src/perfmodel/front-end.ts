import { instancesPerDevice } from '#queueing/batcher-policy.ts';
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

/** Possible causes of idle instances while requests wait. */
export interface FrontEnd {
  /** Time that the server's front end takes for each request, serially. */
  readonly frontEndNs: number;
  /** The rest of the round trip. */
  readonly roundTripNs: number;
  /** The most instances that execute at the same time, as in `ServiceLaw`; absent if all may. */
  readonly atOnce?: number;
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
/** The prior against instances that take turns. */
const SURPRISE_OF_TURNS = 0.01;
/** The mean number of busy instances may exceed the number that execute at once by this much. */
const ROUNDING = 0.15;

/**
 * Fits the front end for which simulated rates, median latencies and batch sizes are nearest to the
 * observed ones. Instances that take turns look like a slow front end except for the batches: these
 * fill while instances wait for their turn, and do not while instances wait for requests.
 */
export function fitFrontEnd(
  explained: readonly ChoiceObservation[],
  roundTripNs: number,
  without: WithoutParts = WHOLE,
): FrontEnd {
  if (without.has('front-end')) return { frontEndNs: 0, roundTripNs };
  const together = fitWith(explained, roundTripNs, undefined);
  const atOnce = turnsAmong(explained);
  if (atOnce === undefined || without.has('turns')) return together.frontEnd;
  const inTurns = fitWith(explained, roundTripNs, atOnce);
  return inTurns.loss + SURPRISE_OF_TURNS < together.loss ? inTurns.frontEnd : together.frontEnd;
}

/**
 * Returns the largest mean number of busy instances of one device while others were idle although
 * requests for another batch were waiting; undefined if there was none.
 */
function turnsAmong(explained: readonly ChoiceObservation[]): number | undefined {
  const seen = explained.flatMap(({ observation }) => {
    const executions = seenExecutions(observation);
    const { policy } = observation;
    const { devices = 1 } = policy;
    if (!executions) return [];
    const { meanBusy, batchesInFlight } = executions;
    return [
      {
        meanBusy: meanBusy / devices,
        batchesInFlight: batchesInFlight / devices,
        instances: instancesPerDevice(policy),
      },
    ];
  });
  const most = Math.max(1, Math.ceil(Math.max(...seen.map(({ meanBusy }) => meanBusy)) - ROUNDING));
  const isIdle = seen.some(({ instances, batchesInFlight }) => Math.min(instances, batchesInFlight - 1) > most);
  return isIdle ? most : undefined;
}

/** A front-end time with its loss; Infinity if another's is less. */
interface Tried {
  readonly us: number;
  readonly loss: number;
}

function fitWith(
  explained: readonly ChoiceObservation[],
  roundTripNs: number,
  atOnce: number | undefined,
): { readonly frontEnd: FrontEnd; readonly loss: number } {
  const fastest = Math.max(...explained.map(({ observation }) => observation.requestsPerSecond));
  const chosen = [...explained]
    .sort((a, b) => b.observation.requestsPerSecond - a.observation.requestsPerSecond)
    .slice(0, MAX_SIMULATED);
  const longestUs = 1e6 / (MAX_BUSY * fastest);
  const toFrontEnd = (us: number): FrontEnd => ({
    frontEndNs: us * 1e3,
    roundTripNs: Math.max(0, roundTripNs - us * 1e3),
    ...(atOnce !== undefined && { atOnce }),
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
  const { us, loss } = best(rough, FINER.map((factor) => rough.us * factor).filter(possible));
  return { frontEnd: toFrontEnd(us), loss };
}

function miss({ observation, law }: ChoiceObservation, { frontEndNs, roundTripNs, atOnce }: FrontEnd): number {
  const { policy, requestsPerSecond, latencyNs } = observation;
  const again = playedAgain(observation, roundTripNs, { mostWarmUp: MAX_WARM_UP, requests: REQUESTS, seed: 1 });
  const simulation = simulate(
    policy,
    { ...law, cv: 0.05, frontEndNs, ...(atOnce && { atOnce }) },
    again.traffic,
    again.extent,
  );
  const rate = Math.log(simulation.requestsPerSecond / requestsPerSecond);
  const middle = Math.log(simulation.latencyNs.p50 / latencyNs.p50);
  const batch = Math.log(
    simulation.meanBatchSize / (seenExecutions(observation)?.meanBatch ?? simulation.meanBatchSize),
  );
  return Math.min(MAX_MISS, rate ** 2) + 0.3 * Math.min(MAX_MISS, middle ** 2) + 0.3 * Math.min(MAX_MISS, batch ** 2);
}
