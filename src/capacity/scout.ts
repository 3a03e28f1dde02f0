import type { Measurement } from '../profiler/measurement.ts';
import type { CapacityPrior } from './posterior.ts';
import { allowedShare, budgetSecondsOf, type CapacityLimit } from './reading.ts';

/** What closed loops of rising concurrency say before any rate is tried. */
export interface Scouted {
  /** Requests per second, the most that were served. */
  readonly mostServed: number;
  /** Requests in flight gave no more beyond that: it is what the server can serve, not what was asked of it. */
  readonly isSaturated: boolean;
  /** Requests per second in the closed loop at about the budget. */
  readonly atBudget: number;
  /** The limited percentile of a single request in flight over its budget; null without a budget. */
  readonly idle: number | null;
}

/** Requests in flight grow by this factor, up to the most, until they add less than this share or are far over the budget. */
const GROWTH = 4;
const MOST_CONCURRENCY = 256;
const LEAST_GAIN = 0.08;
const FAR_OVER = 3;
/** Random arrivals need room: a first guess of the capacity, as a share of what a closed loop serves within the budget. */
const OPEN_LOOP_SHARE = 0.85;
/**
 * Where the saturation S was seen and an idle server is well within the budget B, a queue in heavy traffic (Kingman, 1961) that serves one request after
 * the other needs a share ln(1/a)/(2 S B) of its time to spare to be over the budget for no more than the share a; batches and spread need more.
 */
const SPARE_TIMES = 1.2;
const WELL_WITHIN = 0.6;
const HEAVY_TRAFFIC_SCALE = 0.06;
/** A server that needs more to spare is in no heavy traffic. */
const MOST_SPARE = 0.3;
/** Capacities that are considered: down to a part of what is served, and up to what a machine that got faster could. */
const LOWEST_SHARE = 0.02;
const HIGHEST_SHARE = 2;
/** Where a single request is over the budget by this factor, lower rates than this part are of no use. */
const HOPELESS = 1.25;
const LOWEST_SHARE_THEN = 0.1;

/** Measures closed loops of rising concurrency; `seen` are those measured so far, to which each is added. */
export async function scout(
  measure: (concurrency: number) => Promise<Measurement>,
  limit: CapacityLimit,
  batch: number,
): Promise<Scouted> {
  const seen: Measurement[] = [];
  for (let concurrency = 1; concurrency <= MOST_CONCURRENCY; concurrency *= GROWTH) {
    const before = Math.max(0, ...seen.map(({ throughput }) => throughput.value));
    const measurement = await measure(concurrency);
    seen.push(measurement);
    if (measurement.throughput.value < before * (1 + LEAST_GAIN)) return scouted(seen, true, limit, batch);
    if (excessOf(measurement, limit) > FAR_OVER || measurement.client.bound) break;
  }
  return scouted(seen, false, limit, batch);
}

/** The limited percentile over its budget; without a budget on it, always within. */
const excessOf = ({ budgetLatencyMs }: Measurement, limit: CapacityLimit): number =>
  limit.kind === 'latency' ? budgetLatencyMs.value / limit.budgetMs : 0;

function scouted(seen: readonly Measurement[], isSaturated: boolean, limit: CapacityLimit, batch: number): Scouted {
  const rateOf = ({ throughput }: Measurement): number => throughput.value / batch;
  // Of a saturated server the last level says it: the highest of several is that by luck.
  const mostServed = isSaturated ? rateOf(seen.at(-1) as Measurement) : Math.max(...seen.map(rateOf));
  const [first] = seen;
  const idle = first && limit.kind === 'latency' ? excessOf(first, limit) : null;
  const last = seen.findLast((each) => excessOf(each, limit) <= 1);
  const next = last && seen[seen.indexOf(last) + 1];
  if (!last) return { mostServed, isSaturated, idle, atBudget: Math.min(...seen.map(rateOf)) };
  if (!next) return { mostServed, isSaturated, idle, atBudget: rateOf(last) };
  // Between two levels throughput grows with the logarithm of latency, near enough for a guess.
  const [from, to] = [Math.log(excessOf(last, limit)), Math.log(excessOf(next, limit))];
  const part = to > from ? Math.min(1, -from / (to - from)) : 0;
  return { mostServed, isSaturated, idle, atBudget: rateOf(last) + part * Math.max(0, rateOf(next) - rateOf(last)) };
}

/** A workload's own rate says little of what the server can do: within these factors of it, at most, and half the time within e to this. */
const RATE_SPAN = 1000;
const RATE_SCALE = 1.5;

/** Returns the prior where all that is known is a rate to begin at. */
export const priorAround = (perSecond: number, limit: CapacityLimit, followsHost: boolean): CapacityPrior => ({
  allowed: allowedShare(limit),
  budgetSeconds: budgetSecondsOf(limit),
  low: perSecond / RATE_SPAN,
  high: perSecond * RATE_SPAN,
  likely: perSecond,
  guessScale: RATE_SCALE,
  mostServed: null,
  idle: null,
  followsHost,
});

/** Returns what scouting says of the capacity. */
export function priorOf(
  { mostServed, isSaturated, atBudget, idle }: Scouted,
  limit: CapacityLimit,
  followsHost: boolean,
): CapacityPrior {
  const allowed = allowedShare(limit);
  const budgetSeconds = budgetSecondsOf(limit);
  const isQueue = isSaturated && budgetSeconds !== null && idle !== null && idle < WELL_WITHIN;
  const spare = isQueue ? (-SPARE_TIMES * Math.log(allowed)) / (2 * mostServed * budgetSeconds) : 1;
  const roughly = { likely: Math.max(OPEN_LOOP_SHARE * atBudget, mostServed * LOWEST_SHARE_THEN) };
  const closely = { likely: mostServed * (1 - spare), guessScale: HEAVY_TRAFFIC_SCALE };
  return {
    ...(spare < MOST_SPARE ? closely : roughly),
    ...{ allowed, budgetSeconds, idle, followsHost },
    low: mostServed * (idle !== null && idle > HOPELESS ? LOWEST_SHARE_THEN : LOWEST_SHARE),
    high: mostServed * HIGHEST_SHARE * (isSaturated ? 1 : GROWTH),
    mostServed: isSaturated ? mostServed : null,
  };
}
