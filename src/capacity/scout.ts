import { TrituneError } from '#base/errors.ts';
import { plainLine } from '#base/format.ts';
import type { Measurement } from '#profiler/measurement.ts';
import type { CapacityPrior } from './posterior/prior.ts';
import { allowedShare, type CapacityLimit, toBudgetSeconds } from './reading.ts';
import { refusalsIn } from './refusals.ts';

/** The results of closed loops of rising concurrency, before any rate is tried. */
export interface Scouted {
  /** The highest throughput, in requests per second. */
  readonly mostServed: number;
  /**
   * True if more requests in flight brought no more throughput: the figure is the server's maximum,
   * not just the demand.
   */
  readonly isSaturated: boolean;
  /** Requests per second in the closed loop at about the budget. */
  readonly atBudget: number;
  /**
   * The limited percentile of a single request in flight, divided by its budget; null without a
   * budget.
   */
  readonly idle: number | null;
}

/**
 * Requests in flight grow by this factor up to the maximum, until they add less than this share or
 * are far over the budget.
 */
const GROWTH = 4;
const MAX_CONCURRENCY = 256;
const MIN_GAIN = 0.08;
const FAR_OVER = 3;
/**
 * The first guess of the capacity, as a share of what a closed loop serves within the budget;
 * random arrivals need room.
 */
const OPEN_LOOP_SHARE = 0.85;
/**
 * If the saturation S was seen and an idle server is well within the budget B: a queue in heavy
 * traffic (Kingman, 1961) that serves one request at a time needs a share ln(1/a)/(2 S B) of spare
 * time, so that at most a share a of requests is over the budget. Batches and spread need more.
 */
const SPARE_TIMES = 1.2;
const WELL_WITHIN = 0.6;
const HEAVY_TRAFFIC_SCALE = 0.06;
/** A server that needs more spare time is not in heavy traffic. */
const MAX_SPARE = 0.3;
/**
 * The range of possible capacities: from a part of the served rate up to what a faster machine
 * could serve.
 */
const LOWEST_SHARE = 0.02;
const HIGHEST_SHARE = 2;
/** If a single request is over the budget by this factor, rates below this part are useless. */
const HOPELESS = 1.25;
const LOWEST_SHARE_THEN = 0.1;

/** How closed loops are measured, and when the time for them is up. */
export interface Scouting {
  /**
   * `attempt`: the first closed loop, the same once more because no reply came in its time, or a
   * later one.
   */
  measure(concurrency: number, attempt: 'first' | 'first-again' | 'later'): Promise<Measurement>;
  isOver(): boolean;
}

/**
 * Measures closed loops of rising concurrency, at least one. Errors: those of a measurement;
 * SERVER_FAILED or SERVER_TIMEOUT if a single request in flight got no reply.
 */
export async function scout({ measure, isOver }: Scouting, limit: CapacityLimit, batch: number): Promise<Scouted> {
  const seen: Measurement[] = [];
  for (let concurrency = 1; concurrency <= MAX_CONCURRENCY; concurrency *= GROWTH) {
    const before = Math.max(0, ...seen.map(({ throughput }) => throughput.value));
    if (seen.length > 0 && isOver()) break;
    const measurement = seen.length === 0 ? await first(measure) : await measure(concurrency, 'later');
    if (!(measurement.throughput.value > 0)) break;
    seen.push(measurement);
    if (measurement.throughput.value < before * (1 + MIN_GAIN)) return scouted(seen, true, limit, batch);
    if (computeExcess(measurement, limit) > FAR_OVER || measurement.client.bound) break;
  }
  return scouted(seen, false, limit, batch);
}

/**
 * Measures a single request in flight, once more if no reply came in its time. Errors: as `scout`.
 */
async function first(measure: Scouting['measure']): Promise<Measurement> {
  const isServed = ({ throughput }: Measurement): boolean => throughput.value > 0;
  let measurement = await measure(1, 'first');
  if (!isServed(measurement) && measurement.failures.length === 0) measurement = await measure(1, 'first-again');
  if (!isServed(measurement)) throw noReply(measurement);
  const refused = refusalsIn([measurement]);
  if (refused?.share !== 1) return measurement;
  throw new TrituneError(
    'SERVER_FAILED',
    `every reply had the status ${refused.statuses.join(' or ')}`,
    'check the URL, the method and the body',
  );
}

function noReply({ failures }: Measurement): TrituneError {
  const [first] = failures;
  if (first) {
    return new TrituneError(
      'SERVER_FAILED',
      `no request succeeded: ${first.kind}: ${plainLine(first.firstMessage, 200)}`,
      'try one request with tritune profile, and read the log of the server',
    );
  }
  return new TrituneError(
    'SERVER_TIMEOUT',
    'no reply came in half of --time-budget',
    'allow more time with --time-budget',
  );
}

/**
 * Returns the limited percentile divided by its budget; without a budget, always a value within it.
 */
const computeExcess = ({ budgetLatencyMs }: Measurement, limit: CapacityLimit): number =>
  limit.kind === 'latency' ? budgetLatencyMs.value / limit.budgetMs : 0;

function scouted(seen: readonly Measurement[], isSaturated: boolean, limit: CapacityLimit, batch: number): Scouted {
  const computeRate = ({ throughput }: Measurement): number => throughput.value / batch;
  // For a saturated server, use the last level: the highest of several is highest by luck.
  const mostServed = isSaturated ? computeRate(seen.at(-1) as Measurement) : Math.max(...seen.map(computeRate));
  const [first] = seen;
  const idle = first && limit.kind === 'latency' ? computeExcess(first, limit) : null;
  const last = seen.findLast((each) => computeExcess(each, limit) <= 1);
  const next = last && seen[seen.indexOf(last) + 1];
  if (!last) return { mostServed, isSaturated, idle, atBudget: Math.min(...seen.map(computeRate)) };
  if (!next) return { mostServed, isSaturated, idle, atBudget: computeRate(last) };
  // Between two levels, throughput grows roughly with the logarithm of latency.
  const [from, to] = [Math.log(computeExcess(last, limit)), Math.log(computeExcess(next, limit))];
  const part = to > from ? Math.min(1, -from / (to - from)) : 0;
  return {
    mostServed,
    isSaturated,
    idle,
    atBudget: computeRate(last) + part * Math.max(0, computeRate(next) - computeRate(last)),
  };
}

/**
 * A workload's own rate says little about the server. The capacity is within the first factor of it
 * at most, and half the time within e to the second.
 */
const RATE_SPAN = 1000;
const RATE_SCALE = 1.5;

/** Returns the prior if only a starting rate is known. */
export const priorAround = (perSecond: number, limit: CapacityLimit, followsHost: boolean): CapacityPrior => ({
  allowed: allowedShare(limit),
  budgetSeconds: toBudgetSeconds(limit),
  low: perSecond / RATE_SPAN,
  high: perSecond * RATE_SPAN,
  likely: perSecond,
  guessScale: RATE_SCALE,
  mostServed: null,
  isWorkload: true,
  idle: null,
  followsHost,
});

/** Returns the prior from the results of scouting. */
export function toPrior(
  { mostServed, isSaturated, atBudget, idle }: Scouted,
  limit: CapacityLimit,
  followsHost: boolean,
): CapacityPrior {
  const allowed = allowedShare(limit);
  const budgetSeconds = toBudgetSeconds(limit);
  const isQueue = isSaturated && budgetSeconds !== null && idle !== null && idle < WELL_WITHIN;
  const spare = isQueue ? (-SPARE_TIMES * Math.log(allowed)) / (2 * mostServed * budgetSeconds) : 1;
  const roughly = { likely: Math.max(OPEN_LOOP_SHARE * atBudget, mostServed * LOWEST_SHARE_THEN) };
  const closely = { likely: mostServed * (1 - spare), guessScale: HEAVY_TRAFFIC_SCALE };
  return {
    ...(spare < MAX_SPARE ? closely : roughly),
    allowed,
    budgetSeconds,
    idle,
    followsHost,
    low: mostServed * (idle !== null && idle > HOPELESS ? LOWEST_SHARE_THEN : LOWEST_SHARE),
    high: mostServed * HIGHEST_SHARE * (isSaturated ? 1 : GROWTH),
    mostServed: isSaturated ? mostServed : null,
    isWorkload: false,
  };
}
