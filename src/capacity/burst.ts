import { NS_PER_S } from '#base/units.ts';
import { bisectRate, type KnownRates, knownFrom } from './bisect.ts';
import type { PlayedLoad } from './loads.ts';
import type { CapacityMeans } from './means.ts';
import type { CapacityPrior } from './posterior/prior.ts';
import { type PlayedRecovery, recoverableShare, recoveredAfter, recoveryPosterior } from './posterior/recovery.ts';
import type { BurstQuestion, CapacityQuestion } from './question.ts';
import { allowedShare, type CapacityLimit, isKept, type RateReading, toReading } from './reading.ts';
import { type CapacityState, usualHostWorkUs } from './state.ts';

/** A burst takes long to play, so the search plays few and accepts a wider interval. */
const MIN_PRECISION = 0.05;
const MAX_PLAYS = 8;
/**
 * The lowest base rate of the search is the guess divided by this factor; the highest is the
 * capacity itself.
 */
const BELOW_GUESS = 5;
const ABOVE_CAPACITY = 1.3;
/**
 * Seconds at the base rate after the burst, or after the time to recover: this many budgets, and at
 * least this long.
 */
const AFTER_BUDGETS = 4;
const MIN_AFTER_SECONDS = 2;

/**
 * Finds the highest base rate at which the burst keeps the budget, or recovers in time, by
 * bisection over played bursts.
 */
export async function findBurstRate(
  question: CapacityQuestion,
  burst: BurstQuestion,
  state: CapacityState,
  { loads, onEvent, clock }: CapacityMeans,
): Promise<void> {
  const capacity = state.posterior?.interval.value;
  if (capacity === undefined) return;
  const prior = burstPrior(capacity, burst, question);
  const endNs = clock.nowNs() + question.mostSeconds * NS_PER_S;
  const rule = {
    precision: Math.max(question.precision, MIN_PRECISION),
    mostReadings: MAX_PLAYS,
    // A burst is played whole, and at least one is played.
    isOver: () => state.bursts.length > 0 && clock.nowNs() >= endNs,
  };
  const outcome = await bisectRate(prior, rule, async (perSecond, _, { interval }) => {
    onEvent({ type: 'burst', perSecond, interval });
    const load = await loads.burst(perSecond, burst, afterSeconds(burst, question.limit));
    const reading = burstReading(load, burst, question, state);
    state.bursts.push({ ...load, perSecond, reading });
    onEvent({ type: 'burst-played', perSecond, isKept: isKept(reading, question.limit), load });
    return knownFromPlays(state, prior, burst, question.limit);
  });
  state.burst = outcome.posterior;
  if (outcome.ending === 'limit' && rule.isOver()) state.cutShort.add('burst');
}

/** Returns what the plays so far tell: how long they took to recover, or their late requests. */
function knownFromPlays(
  { bursts }: CapacityState,
  prior: CapacityPrior,
  burst: BurstQuestion,
  limit: CapacityLimit,
): KnownRates {
  const readings = bursts.map(({ reading }) => reading);
  const { recoverSeconds } = burst;
  if (recoverSeconds === null || limit.kind !== 'latency') return knownFrom(readings, prior);
  const plays = bursts.map(
    ({ perSecond, windows, reading: { logSpeed } }): PlayedRecovery => ({
      perSecond,
      windows,
      logSpeed: prior.followsHost ? (logSpeed ?? 0) : 0,
    }),
  );
  const { budgetMs } = limit;
  return { readings, posterior: recoveryPosterior(plays, prior, burst, { recoverSeconds, budgetMs }) };
}

/**
 * Returns the prior of a base rate; its first guess treats requests as a fluid. A burst of factor f
 * over D seconds on a base rate b leaves a backlog of (f b − c) D. It keeps the budget B if serving
 * the backlog takes at most B: f b = c (1 + B/D).
 */
export function burstPrior(
  capacity: number,
  burst: BurstQuestion,
  { limit, followsHost }: Pick<CapacityQuestion, 'limit' | 'followsHost'>,
): CapacityPrior {
  const { factor, seconds, recoverSeconds } = burst;
  const budgetSeconds = limit.kind === 'latency' ? limit.budgetMs / 1e3 : 0;
  const keeping = (capacity * (1 + budgetSeconds / seconds)) / factor;
  const recovering = recoverSeconds === null ? 0 : capacity * recoverableShare(burst, recoverSeconds);
  const likely = Math.min(capacity, Math.max(keeping, recovering));
  return {
    allowed: allowedShare(limit),
    // A burst is no steady queue. Its readings show by themselves how bad requests cluster.
    budgetSeconds: null,
    low: likely / BELOW_GUESS,
    high: ABOVE_CAPACITY * capacity,
    likely,
    mostServed: null,
    isWorkload: false,
    idle: null,
    followsHost,
  };
}

function afterSeconds({ recoverSeconds }: BurstQuestion, limit: CapacityLimit): number {
  const budgets = limit.kind === 'latency' ? (AFTER_BUDGETS * limit.budgetMs) / 1e3 : 0;
  return (recoverSeconds ?? 0) + Math.max(MIN_AFTER_SECONDS, budgets);
}

/**
 * Returns the reading of a burst: from all its requests, or only from those after the time allowed
 * to recover.
 */
function burstReading(
  { measurement, windows }: PlayedLoad,
  { seconds, recoverSeconds }: BurstQuestion,
  { limit, batch }: CapacityQuestion,
  state: CapacityState,
): RateReading {
  const all = toReading(measurement, { limit, batch, usualHostWorkUs: usualHostWorkUs(state) });
  // The search is for the base rate, not for the mean rate including the burst.
  const reading = { ...all, perSecond: all.offeredPerSecond };
  if (recoverSeconds === null || limit.kind !== 'latency') return reading;
  const took = recoveredAfter(windows, seconds, limit.budgetMs);
  const mean = took !== null && took <= recoverSeconds ? 0 : 1;
  return { ...reading, bad: { mean, sd: 1 } };
}
