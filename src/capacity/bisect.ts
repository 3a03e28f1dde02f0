import { relativeHalfWidth } from '../stats/precision.ts';
import { type CapacityPosterior, type CapacityPrior, capacityPosterior } from './posterior.ts';
import { isKept, type RateReading } from './reading.ts';

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
/** The lowest rate that is considered, over the prior's lowest, and how sure it must be that the capacity is below. */
const LOWEST = 1.5;
const SURE = 0.95;

/**
 * Looks for the highest rate that keeps the budget: measures where the answer is most uncertain, at the posterior's median (probabilistic
 * bisection: Horstein, 1963; Waeber, Frazier and Henderson, 2013), until the 95 % interval is narrow enough and both sides were seen.
 * `measure` takes one more reading at a rate and gives all so far, none of which need be of that rate.
 */
export async function bisectRate(
  prior: CapacityPrior,
  rule: BisectRule,
  measure: (perSecond: number, posterior: CapacityPosterior) => Promise<readonly RateReading[]>,
): Promise<BisectOutcome> {
  let posterior = capacityPosterior([], prior);
  let readings: readonly RateReading[] = [];
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
  { low }: CapacityPrior,
  { precision, mostReadings, isOver }: BisectRule,
): BisectEnding | null {
  const lowest = LOWEST * low;
  const isMissedAtLowest = readings.some((reading) => reading.perSecond <= lowest && !isKept(reading));
  if (isMissedAtLowest && 1 - posterior.chance(lowest) > SURE) return 'infeasible';
  const isPrecise = relativeHalfWidth(posterior.interval) <= precision;
  if (isPrecise && readings.length >= LEAST_READINGS && sidesOf(readings) === 'both') return 'precise';
  return readings.length >= mostReadings || isOver() ? 'limit' : null;
}

type Sides = 'none' | 'kept' | 'missed' | 'both';

function sidesOf(readings: readonly RateReading[]): Sides {
  const kept = readings.filter(isKept).length;
  if (readings.length === 0) return 'none';
  return kept === 0 ? 'missed' : kept === readings.length ? 'kept' : 'both';
}

/** The median, unless all is precise and one side was never seen. */
function nextRate(
  posterior: CapacityPosterior,
  readings: readonly RateReading[],
  { low }: CapacityPrior,
  { precision }: BisectRule,
): number {
  const sides = sidesOf(readings);
  const isPrecise = relativeHalfWidth(posterior.interval) <= precision;
  const chance = isPrecise && sides === 'kept' ? OTHER_SIDE : isPrecise && sides === 'missed' ? 1 - OTHER_SIDE : 0.5;
  return Number(Math.max(posterior.quantile(chance), LOWEST * low).toPrecision(4));
}
