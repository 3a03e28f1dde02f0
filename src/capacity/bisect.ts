import { relativeHalfWidth } from '#stats/precision.ts';
import type { ReadingLength } from './loads.ts';
import { type CapacityPosterior, capacityPosterior } from './posterior/posterior.ts';
import type { CapacityPrior } from './posterior/prior.ts';
import type { RateReading } from './reading.ts';

/** When a search over rates is done, and when it gives up. */
export interface BisectRule {
  /** Half-width of the 95 % interval that ends the search, as a share. */
  readonly precision: number;
  /** The maximum number of readings. */
  readonly mostReadings: number;
  /** True if the time is up. */
  readonly isOver: () => boolean;
}

/**
 * Why a search ended: the interval is narrow enough, not even the lowest rate keeps the budget, or
 * a limit was reached.
 */
export type BisectEnding = 'precise' | 'infeasible' | 'limit';

/** All readings so far, and what follows from them. */
export interface KnownRates {
  readonly readings: readonly RateReading[];
  readonly posterior: CapacityPosterior;
}

/** The state of a search after a reading. */
export interface BisectOutcome {
  readonly ending: BisectEnding;
  readonly posterior: CapacityPosterior;
}

/** Fewer readings are no answer, however well they fit. */
export const MIN_READINGS = 4;
/**
 * While all readings are on one side, the search for the other side asks at this chance of the
 * posterior.
 */
const OTHER_SIDE = 0.9;
/**
 * Once both sides were seen, the next rate is the one where this share of requests should be bad,
 * as a power between the allowed share (0) and `MAX_TOLD` (1). Bad requests come in clusters. A
 * second of measuring says most about a queue if one in seven requests is bad: twice as much as if
 * one in a hundred is (the number of clusters, times the square of how steeply the share rises).
 * Readings at a single rate say little about that slope.
 */
const ASKED = [0, 0.7, 0.4, 0.8] as const;
const MAX_TOLD = 0.135;
/**
 * For a workload these multiples of the allowed share: nothing is known of its curve farther away.
 */
const ASKED_OF_WORKLOAD = [1, 2, 0.7, 1.4] as const;
/** The maximum rate relative to the median, however flat latency seems to be. */
const MAX_ABOVE = 1.15;
/** … and the maximum share of the gap between the median and the saturation, if that was seen. */
const MAX_OF_GAP = 0.7;
/**
 * The next rate is this factor above a reading without a bad request, up to the rate that fills a
 * saturated queue to the budget in this time.
 */
const NOTHING_SEEN = 1.015;
const FILLING_SECONDS = 5;
/**
 * While no reading is on the other side, the search moves by strides of this factor, up to this
 * chance of the posterior.
 */
const STRIDE = 1.6;
const FARTHER = 0.85;
/** Around a first guess with at most this scale, measuring starts at once. */
const CLOSE_GUESS = 0.1;
/** … for at most this number of readings on one side. */
const MAX_NEAR = 8;
/** If a single request in flight is this far over the budget, there is little hope. */
const FAR_OVER = 1.25;
/**
 * The lowest rate of the search, relative to the prior's lowest, and how sure it must be that the
 * capacity is below.
 */
const LOWEST = 1.5;
const SURE = 0.95;
/** The number of misses at the lowest rate that suffices if no rate kept the budget. */
const MISSES = 2;

/**
 * Searches for the highest rate that keeps the budget. Measures at the most uncertain point, the
 * posterior's median (probabilistic bisection: Horstein, 1963; Waeber, Frazier and Henderson,
 * 2013), and now and then near the ends of its interval. Ends when the 95 % interval is narrow
 * enough and both sides were seen. `measure` takes one more reading at a rate and returns what is
 * known then; `known` is what was known before.
 */
export async function bisectRate(
  prior: CapacityPrior,
  rule: BisectRule,
  measure: (perSecond: number, length: ReadingLength, posterior: CapacityPosterior) => Promise<KnownRates>,
  known = knownFrom([], prior),
): Promise<BisectOutcome> {
  let { readings, posterior } = known;
  for (;;) {
    const ending = findEnding(posterior, readings, prior, rule);
    if (ending !== null) return { ending, posterior };
    const perSecond = rounded(nextRate(posterior, readings, prior, rule));
    ({ readings, posterior } = await measure(perSecond, nextLength(readings, prior), posterior));
  }
}

/** Returns what is known from these readings. */
export const knownFrom = (readings: readonly RateReading[], prior: CapacityPrior): KnownRates => ({
  readings,
  posterior: capacityPosterior(readings, prior),
});

function findEnding(
  posterior: CapacityPosterior,
  readings: readonly RateReading[],
  { low, allowed }: CapacityPrior,
  { precision, mostReadings, isOver }: BisectRule,
): BisectEnding | null {
  const lowest = LOWEST * low;
  const missedAtLowest = readings.filter(
    (reading) => reading.offeredPerSecond <= 1.01 * lowest && isMissed(reading, allowed),
  ).length;
  const isHopeless = splitSides(readings, allowed) === 'missed' && missedAtLowest >= MISSES;
  if (isHopeless || (missedAtLowest > 0 && 1 - posterior.chance(lowest) > SURE)) return 'infeasible';
  if (isFound({ readings, posterior }, { allowed }, precision)) return 'precise';
  return readings.length >= mostReadings || isOver() ? 'limit' : null;
}

/** True if the interval is narrow enough, and enough readings on both sides support it. */
export const isFound = (
  { readings, posterior }: KnownRates,
  { allowed }: Pick<CapacityPrior, 'allowed'>,
  precision: number,
): boolean =>
  relativeHalfWidth(posterior.interval) <= precision &&
  readings.length >= MIN_READINGS &&
  splitSides(readings, allowed) === 'both';

type Sides = 'none' | 'kept' | 'missed' | 'both';

const isMissed = ({ bad, isUnsustained }: RateReading, allowed: number): boolean => isUnsustained || bad.mean > allowed;

function splitSides(readings: readonly RateReading[], allowed: number): Sides {
  const kept = readings.filter((reading) => !isMissed(reading, allowed)).length;
  if (readings.length === 0) return 'none';
  return kept === 0 ? 'missed' : kept === readings.length ? 'kept' : 'both';
}

/** A rough reading suffices while the capacity may be anywhere. */
const nextLength = (readings: readonly RateReading[], prior: CapacityPrior): ReadingLength =>
  isNear(readings, prior) ? 'counted' : 'verdict';

/**
 * True if the capacity is roughly known: both sides were seen, or the server's maximum throughput
 * implies it.
 */
const isNear = (readings: readonly RateReading[], { allowed, guessScale = 1 }: CapacityPrior): boolean =>
  splitSides(readings, allowed) === 'both' || (readings.length < MAX_NEAR && guessScale < CLOSE_GUESS);

/**
 * Returns the next rate to measure: near the posterior's median, or farther out if all readings are
 * on one side.
 */
function nextRate(
  posterior: CapacityPosterior,
  readings: readonly RateReading[],
  prior: CapacityPrior,
  { precision }: BisectRule,
): number {
  const { low, allowed, idle } = prior;
  const lowest = LOWEST * low;
  const sides = splitSides(readings, allowed);
  // If an idle server is far over the budget, only the lowest rate is worth trying, until it has
  // missed often enough.
  if (idle !== null && idle > FAR_OVER && readings.length < MISSES && sides !== 'kept') return lowest;
  const rates = readings.map(({ offeredPerSecond }) => offeredPerSecond);
  const median = posterior.quantile(0.5);
  if (isNear(readings, prior)) return Math.max(lowest, askedNear(median, posterior, readings, prior));
  const isPrecise = relativeHalfWidth(posterior.interval) <= precision;
  // The posterior knows nothing of a budget that no rate keeps. After some misses the strides
  // continue downwards, whatever it says.
  const nearest = readings.length < MIN_READINGS ? posterior.quantile(1 - FARTHER) : 0;
  switch (sides) {
    case 'kept':
      if (isPrecise) return posterior.quantile(OTHER_SIDE);
      return Math.max(median, Math.min(posterior.quantile(FARTHER), STRIDE * Math.max(...rates)));
    case 'missed':
      if (isPrecise) return Math.max(lowest, posterior.quantile(1 - OTHER_SIDE));
      return Math.max(lowest, Math.min(median, Math.max(nearest, Math.min(...rates) / STRIDE)));
    default:
      return Math.max(lowest, median);
  }
}

function askedNear(
  median: number,
  posterior: CapacityPosterior,
  readings: readonly RateReading[],
  { allowed, mostServed, budgetSeconds, isWorkload }: CapacityPrior,
): number {
  const power = ASKED[readings.length % ASKED.length] as number;
  const statedPower = isWorkload ? askedOfWorkload(readings.length) : Math.max(1, MAX_TOLD / allowed) ** power;
  const usual = median * Math.min(posterior.timesForShare(allowed * statedPower), MAX_ABOVE);
  if (mostServed === null) return usual;
  const last = readings.at(-1);
  // Without a single bad request, a reading says little. A queue may need longer than the reading
  // to fill, but not beyond its saturation.
  if (last !== undefined && last.bad.mean === 0 && last.offeredPerSecond >= median) {
    const filling = mostServed * (1 + (budgetSeconds ?? 0) / FILLING_SECONDS);
    return Math.max(usual, Math.min(last.offeredPerSecond * NOTHING_SEEN, filling));
  }
  // A reading far beyond what the server can serve says nothing more.
  return Math.min(usual, median + power * MAX_OF_GAP * Math.max(0, mostServed - median));
}

const askedOfWorkload = (readings: number): number => ASKED_OF_WORKLOAD[readings % ASKED_OF_WORKLOAD.length] as number;

const rounded = (perSecond: number): number => Number(perSecond.toPrecision(4));
