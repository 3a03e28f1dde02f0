import { type Observation, seenExecutions } from '../queueing/observation.ts';
import type { ServiceLaw } from '../queueing/service-law.ts';
import { enoughRequests, simulate } from '../queueing/simulate.ts';
import { WHOLE, type WithoutParts } from './parts.ts';

/** An observation and the law that its choice seems to have. */
export interface Explained {
  readonly observation: Observation;
  readonly law: ServiceLaw;
}

/** What may keep instances idle while requests wait. */
export interface FrontEnd {
  /** Time that the server's front end takes for each request, one after the other. */
  readonly frontEndNs: number;
  /** What is left of the round trip. */
  readonly roundTripNs: number;
  /** As in `ServiceLaw`; left out where all instances may run together. */
  readonly atOnce?: number;
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
/** And what turns must: that instances run together is. */
const SURPRISE_OF_TURNS = 0.01;
/** By so much of an instance the busy ones may be more than those that run at once. */
const ROUNDING = 0.15;

/**
 * The front end with which simulated rates, median latencies and batches are nearest to the observed ones. Instances that take turns
 * look much like a slow front end, but for the batches: while others wait for their turn these fill, while they wait for requests they do not.
 */
export function fitFrontEnd(
  explained: readonly Explained[],
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

/** How many instances were busy at most, where others were idle though there was more than enough for another batch. */
function turnsAmong(explained: readonly Explained[]): number | undefined {
  const seen = explained.flatMap(({ observation }) => {
    const executions = seenExecutions(observation);
    return executions ? [{ ...executions, instances: observation.policy.instances }] : [];
  });
  const most = Math.max(1, Math.ceil(Math.max(...seen.map(({ meanBusy }) => meanBusy)) - ROUNDING));
  const isIdle = seen.some(({ instances, batchesInFlight }) => Math.min(instances, batchesInFlight - 1) > most);
  return isIdle ? most : undefined;
}

function fitWith(
  explained: readonly Explained[],
  roundTripNs: number,
  atOnce: number | undefined,
): { readonly frontEnd: FrontEnd; readonly loss: number } {
  const fastest = Math.max(...explained.map(({ observation }) => observation.requestsPerSecond));
  const chosen = [...explained]
    .sort((a, b) => b.observation.requestsPerSecond - a.observation.requestsPerSecond)
    .slice(0, MOST_SIMULATED);
  const longestUs = 1e6 / (MOST_BUSY * fastest);
  const frontEndOf = (us: number): FrontEnd => ({
    frontEndNs: us * 1e3,
    roundTripNs: Math.max(0, roundTripNs - us * 1e3),
    ...(atOnce !== undefined && { atOnce }),
  });
  const lossOf = (us: number): number => {
    const misses = chosen.reduce((sum, each) => sum + miss(each, frontEndOf(us)), 0);
    return misses / chosen.length + PRIOR_WEIGHT * Math.log2(1 + us / 20);
  };
  const best = (tried: readonly number[]): { us: number; loss: number } =>
    tried.map((us) => ({ us, loss: lossOf(us) })).reduce((least, each) => (each.loss < least.loss ? each : least));
  const possible = (us: number): boolean => us < longestUs;
  const rough = best([...TRIED_US.filter(possible), longestUs]).us;
  const { us, loss } = best([rough, ...FINER.map((factor) => rough * factor).filter(possible)]);
  return { frontEnd: frontEndOf(us), loss };
}

function miss({ observation, law }: Explained, { frontEndNs, roundTripNs, atOnce }: FrontEnd): number {
  const { policy, concurrency, samplesPerRequest, requestsPerSecond, latencyNs } = observation;
  const traffic = { kind: 'closed', concurrency, samplesPerRequest, roundTripNs } as const;
  const extent = {
    warmUpRequests: Math.min(MOST_WARM_UP, 2 * concurrency),
    requests: enoughRequests(REQUESTS, concurrency),
    seed: 1,
  };
  const found = simulate(policy, { ...law, cv: 0.05, frontEndNs, ...(atOnce && { atOnce }) }, traffic, extent);
  const rate = Math.log(found.requestsPerSecond / requestsPerSecond);
  const middle = Math.log(found.latencyNs.p50 / latencyNs.p50);
  const batch = Math.log(found.meanBatchSize / (seenExecutions(observation)?.meanBatch ?? found.meanBatchSize));
  return (
    Math.min(MOST_MISS, rate ** 2) + 0.3 * Math.min(MOST_MISS, middle ** 2) + 0.3 * Math.min(MOST_MISS, batch ** 2)
  );
}
