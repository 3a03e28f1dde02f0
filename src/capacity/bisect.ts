import { relativeHalfWidth } from '../stats/precision.ts';
import type { ReadingLength } from './loads.ts';
import { type CapacityPosterior, type CapacityPrior, capacityPosterior } from './posterior.ts';
import type { RateReading } from './reading.ts';

/** When a search over rates has an answer, and when it is given up. */
export interface BisectRule {
  /** Half-width of the 95 % interval that ends the search, as a share. */
  readonly precision: number;
  /** Readings, at most. */
  readonly mostReadings: number;
  /** Tells whether the time is up. */
  readonly isOver: () => boolean;
}

/** Why a search ended: the interval is narrow enough, not even the lowest rate keeps the budget, or it was given up. */
export type BisectEnding = 'precise' | 'infeasible' | 'limit';

/** The state of a search after a reading. */
export interface BisectOutcome {
  readonly ending: BisectEnding;
  readonly posterior: CapacityPosterior;
}

/** Fewer readings than this are no answer, however well they fit. */
const LEAST_READINGS = 4;
/** Where all readings so far are on one side, the other side is looked for at this chance of the posterior. */
const OTHER_SIDE = 0.9;
/**
 * Where the next rate is asked about once both sides were seen: where this share of requests is expected to be bad, as a power between the
 * allowed share (0) and `MOST_TOLD` (1). Bad requests come in clusters, and a second says most of a queue where one in seven requests is bad:
 * twice as much as where one in a hundred is (the number of clusters, times the square of how steeply the share rises). Readings at one rate
 * alone say little of how steeply that is.
 */
const ASKED = [0, 0.7, 0.4, 0.8] as const;
const MOST_TOLD = 0.135;
/** A rate is no farther above the median than this, however flat latency seems to be. */
const MOST_ABOVE = 1.15;
/** … and no farther beyond it than by this part of what lies between it and the saturation, where that was seen. */
const MOST_OF_GAP = 0.7;
/** Where no reading is on the other side yet, it is looked for in strides of this factor, up to this chance of the posterior. */
const STRIDE = 1.6;
const FARTHER = 0.85;
/** A first guess of this scale is measured around at once. */
const CLOSE_GUESS = 0.1;
/** A single request in flight this far over the budget leaves little hope. */
const FAR_OVER = 1.25;
/** The lowest rate that is considered, over the prior's lowest, and how sure it must be that the capacity is below. */
const LOWEST = 1.5;
const SURE = 0.95;
/** Misses at the lowest rate that are enough where no rate was kept. */
const MISSES = 2;

/**
 * Looks for the highest rate that keeps the budget: measures where the answer is most uncertain, at the posterior's median (probabilistic
 * bisection: Horstein, 1963; Waeber, Frazier and Henderson, 2013), now and then near the ends of its interval, until the 95 % interval is narrow enough and both sides were seen.
 * `measure` takes one more reading at a rate and gives all so far; `known` are those taken before.
 */
export async function bisectRate(
  prior: CapacityPrior,
  rule: BisectRule,
  measure: (perSecond: number, length: ReadingLength, posterior: CapacityPosterior) => Promise<readonly RateReading[]>,
  known: readonly RateReading[] = [],
): Promise<BisectOutcome> {
  let posterior = capacityPosterior(known, prior);
  let readings = known;
  for (;;) {
    const ending = endingOf(posterior, readings, prior, rule);
    if (ending !== null) return { ending, posterior };
    const perSecond = rounded(nextRate(posterior, readings, prior, rule));
    readings = await measure(perSecond, nextLength(readings, prior), posterior);
    posterior = capacityPosterior(readings, prior);
  }
}

function endingOf(
  posterior: CapacityPosterior,
  readings: readonly RateReading[],
  { low, allowed }: CapacityPrior,
  { precision, mostReadings, isOver }: BisectRule,
): BisectEnding | null {
  const lowest = LOWEST * low;
  const missedAtLowest = readings.filter(
    (reading) => reading.askedPerSecond <= 1.01 * lowest && isMissed(reading, allowed),
  ).length;
  const isHopeless = sidesOf(readings, allowed) === 'missed' && missedAtLowest >= MISSES;
  if (isHopeless || (missedAtLowest > 0 && 1 - posterior.chance(lowest) > SURE)) return 'infeasible';
  const isPrecise = relativeHalfWidth(posterior.interval) <= precision;
  if (isPrecise && readings.length >= LEAST_READINGS && sidesOf(readings, allowed) === 'both') return 'precise';
  return readings.length >= mostReadings || isOver() ? 'limit' : null;
}

type Sides = 'none' | 'kept' | 'missed' | 'both';

const isMissed = ({ bad, isUnsustained }: RateReading, allowed: number): boolean => isUnsustained || bad.mean > allowed;

function sidesOf(readings: readonly RateReading[], allowed: number): Sides {
  const kept = readings.filter((reading) => !isMissed(reading, allowed)).length;
  if (readings.length === 0) return 'none';
  return kept === 0 ? 'missed' : kept === readings.length ? 'kept' : 'both';
}

/** A rough reading is for where the capacity may be anywhere. */
const nextLength = (readings: readonly RateReading[], prior: CapacityPrior): ReadingLength =>
  isNear(readings, prior) ? 'counted' : 'verdict';

/** Tells whether the capacity is about known: both sides were seen, or what the server can serve at most says it. */
const isNear = (readings: readonly RateReading[], { allowed, guessScale = 1 }: CapacityPrior): boolean =>
  sidesOf(readings, allowed) === 'both' || (readings.length < LEAST_READINGS && guessScale < CLOSE_GUESS);

/** Where the next rate is measured: near the posterior's median, or farther on where all readings so far are on one side. */
function nextRate(
  posterior: CapacityPosterior,
  readings: readonly RateReading[],
  prior: CapacityPrior,
  { precision }: BisectRule,
): number {
  const { low, allowed, idle } = prior;
  const lowest = LOWEST * low;
  const sides = sidesOf(readings, allowed);
  // Where an idle server is far over the budget, only the lowest rate is left to try, until it has missed often enough.
  if (idle !== null && idle > FAR_OVER && readings.length < MISSES && sides !== 'kept') return lowest;
  const rates = readings.map(({ askedPerSecond }) => askedPerSecond);
  const median = posterior.quantile(0.5);
  if (isNear(readings, prior)) return Math.max(lowest, askedNear(median, posterior, readings.length, prior));
  const isPrecise = relativeHalfWidth(posterior.interval) <= precision;
  // Of a budget that no rate keeps the posterior knows nothing: after some misses the strides go on down, whatever it says.
  const nearest = readings.length < LEAST_READINGS ? posterior.quantile(1 - FARTHER) : 0;
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

function askedNear(median: number, posterior: CapacityPosterior, turn: number, { allowed, mostServed }: CapacityPrior) {
  const power = ASKED[turn % ASKED.length] as number;
  const share = allowed * Math.max(1, MOST_TOLD / allowed) ** power;
  const asked = median * Math.min(posterior.timesForShare(share), MOST_ABOVE);
  // Far beyond what the server can serve a reading says nothing more.
  return mostServed === null ? asked : Math.min(asked, median + power * MOST_OF_GAP * Math.max(0, mostServed - median));
}

const rounded = (perSecond: number): number => Number(perSecond.toPrecision(4));
