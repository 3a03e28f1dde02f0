import { relativeHalfWidth } from '../stats/precision.ts';
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
 * Where the next rate is asked about, as a chance of the posterior: at the median, and now and then near an end of its interval, because readings
 * at one rate alone say little of how steeply latency rises.
 */
const ASKED = [0.5, 0.5, 0.05, 0.5, 0.5, 0.95] as const;
/** Where no reading is on the other side yet, it is looked for in strides of this factor, up to this chance of the posterior. */
const STRIDE = 1.6;
const FARTHER = 0.85;
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
  measure: (perSecond: number, posterior: CapacityPosterior) => Promise<readonly RateReading[]>,
  known: readonly RateReading[] = [],
): Promise<BisectOutcome> {
  let posterior = capacityPosterior(known, prior);
  let readings = known;
  for (;;) {
    const ending = endingOf(posterior, readings, prior, rule);
    if (ending !== null) return { ending, posterior };
    readings = await measure(nextRate(posterior, readings, prior, rule), posterior);
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
    (reading) => reading.perSecond <= 1.01 * lowest && isMissed(reading, allowed),
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

/** Where the next rate is measured: near the posterior's median, or farther on where all readings so far are on one side. */
function nextRate(
  posterior: CapacityPosterior,
  readings: readonly RateReading[],
  { low, allowed, idle }: CapacityPrior,
  { precision }: BisectRule,
): number {
  const lowest = LOWEST * low;
  // Where an idle server is far over the budget, only the lowest rate is left to try.
  if (readings.length === 0 && idle !== null && idle > FAR_OVER) return rounded(lowest);
  const rates = readings.map(({ perSecond }) => perSecond);
  const median = posterior.quantile(0.5);
  const isPrecise = relativeHalfWidth(posterior.interval) <= precision;
  switch (sidesOf(readings, allowed)) {
    case 'kept':
      if (isPrecise) return rounded(posterior.quantile(OTHER_SIDE));
      return rounded(Math.max(median, Math.min(posterior.quantile(FARTHER), STRIDE * Math.max(...rates))));
    case 'missed':
      if (isPrecise) return rounded(Math.max(lowest, posterior.quantile(1 - OTHER_SIDE)));
      return rounded(
        Math.max(lowest, Math.min(median, Math.max(posterior.quantile(1 - FARTHER), Math.min(...rates) / STRIDE))),
      );
    default:
      return rounded(Math.max(lowest, posterior.quantile(ASKED[readings.length % ASKED.length] as number)));
  }
}

const rounded = (perSecond: number): number => Number(perSecond.toPrecision(4));
