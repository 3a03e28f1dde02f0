import { median } from 'simple-statistics';
import type { LoadLevel } from '../../loadgen/types.ts';
import type { Measurement } from '../../profiler/measurement.ts';
import { assess, isFeasible } from '../goal.ts';
import { chosenOf } from '../ranking.ts';
import type { StudyState } from '../state.ts';
import type { Goal, Trial } from '../types.ts';

/** Of the level at which a side would just meet the goal. */
export const TO_BE_SAFE = 0.9;
/** One request in flight less is a large step for a few: to enter so far below what the search chose costs more than it saves. */
const FAR_BELOW = 0.85;
/** In a closed loop latency grows about as the level does, for levels that are no farther apart than this. */
const NEARBY = 1.6;
/** One late round of two may be the machine's; two of three are the side's. */
const ROUNDS_TO_MISS = 3;

/** A measurement of the final, and the round that it was made in. */
export interface Reading {
  readonly round: number;
  readonly measurement: Measurement;
}

/** One side of the final: a trial, the level that it is measured at, and how it did there. */
export interface Side {
  readonly trial: Trial;
  level: number;
  stepsDown: number;
  stepsUp: number;
  /** The last time that it went to another level within its turn. */
  moved: { readonly round: number; readonly to: 'lower' | 'higher' } | null;
  readings: readonly Reading[];
  /** Those at the levels before, a list for each: what there is to go by when the final is cut short right after. */
  former: readonly (readonly Reading[])[];
  /** Why it is measured no more. */
  out: 'missed' | 'slower' | null;
}

/** A side at the level that it enters at; null for a trial that the search chose none for. */
export function sideOf(trial: Trial | null, { goal, started }: StudyState): Side | null {
  const chosen = trial?.chosen == null ? undefined : trial.measurements[trial.chosen];
  if (!trial || !chosen) return null;
  const level = Math.max(entryLevel(chosen, goal), Math.min(started.levels.low, chosen.level.value));
  return { trial, level, stepsDown: 0, stepsUp: 0, moved: null, readings: [], former: [], out: null };
}

/**
 * The level that the search chose; one that should leave the budget some room where that measurement says that it may as
 * well be over it: what does not hold costs rounds, and near its limit a server loses little throughput by it.
 */
function entryLevel({ level, budgetLatencyMs: { percentile, value, high } }: Measurement, { budget }: Goal): number {
  if (percentile !== budget?.percentile || high <= budget.latencyMs || value > budget.latencyMs) return level.value;
  const safe = roundedDown(level, (level.value * TO_BE_SAFE * budget.latencyMs) / value);
  return safe < FAR_BELOW * level.value ? level.value : Math.min(level.value, safe);
}

export const roundedDown = ({ mode }: LoadLevel, value: number): number =>
  mode === 'concurrency' ? Math.floor(value) : Number(value.toPrecision(3));

export const misses = ({ trial, readings }: Side, goal: Goal): readonly Measurement[] =>
  readings
    .map(({ measurement }) => measurement)
    .filter((measurement) => !isFeasible(measurement, trial.candidate, goal));

/**
 * It cannot have met the goal in most of so many rounds; or it never met it, missed it clearly, and all that was read of it nearby says the same: no
 * further round is needed to know.
 */
export function isLate(side: Side, goal: Goal, rounds: number): boolean {
  const late = misses(side, goal);
  const isLost = late.length * 2 >= Math.max(rounds, ROUNDS_TO_MISS, side.readings.length);
  const isAlwaysLate = late.length === side.readings.length;
  if (isLost || !isAlwaysLate) return isLost;
  const isUsual = (usualTightness(side, goal) ?? Number.POSITIVE_INFINITY) > 1;
  return isUsual && late.some((measurement) => isClearlyLate(measurement, goal));
}

/**
 * The budgeted percentile as a part of the budget at the side's present level: the median of all readings of its trial at levels nearby, in the
 * search and in the final. Of one reading it may be the machine that was late. null where latency does not grow as the level does, or there is no budget.
 */
export function usualTightness({ trial, level, readings, former }: Side, goal: Goal): number | null {
  const own = [...former.flat(), ...readings].map(({ measurement }) => measurement);
  const parts = [...trial.measurements, ...own].flatMap((measurement) => {
    const tightness = tightnessOf(measurement, trial, goal);
    const apart = level / measurement.level.value;
    return tightness === null || Math.max(apart, 1 / apart) > NEARBY ? [] : [tightness * apart];
  });
  return parts.length > 0 ? median(parts) : null;
}

/** The same of one reading, at its own level. */
export function tightnessOf(measurement: Measurement, { candidate }: Trial, goal: Goal): number | null {
  const { level, budgetLatencyMs } = measurement;
  const { budget } = goal;
  if (!budget || budgetLatencyMs.percentile !== budget.percentile || level.mode !== 'concurrency') return null;
  return isFeasible(measurement, candidate, { ...goal, budget: null })
    ? budgetLatencyMs.value / budget.latencyMs
    : null;
}

/** In as many rounds at its present level as are planned, it met the goal in most. */
export const hasHeld = ({ trial, readings }: Side, goal: Goal, rounds: number): boolean =>
  readings.length >= rounds &&
  mostlyMeets(
    readings.map(({ measurement }) => measurement),
    trial,
    goal,
  );

/** More than half of these measurements of a trial met the goal. */
export const mostlyMeets = (measurements: readonly Measurement[], { candidate }: Trial, goal: Goal): boolean =>
  measurements.filter((measurement) => isFeasible(measurement, candidate, goal)).length * 2 > measurements.length;

/** The cost of what it served at its present level where it has met the goal there; Infinity where it has not. */
export function servedCost({ trial, readings }: Side, goal: Goal): number {
  const assessed = readings.map(({ measurement }) => assess(measurement, trial.candidate, goal));
  return assessed.some(({ feasible }) => feasible)
    ? median(assessed.map(({ cost }) => cost))
    : Number.POSITIVE_INFINITY;
}

/** So many rounds a side must play: more than planned where one was late. */
export const roundsFor = (side: Side, goal: Goal, rounds: number): number =>
  misses(side, goal).length > 0 ? Math.max(rounds, ROUNDS_TO_MISS) : rounds;

/** What was read so far is no longer to be compared with what follows. */
export function startAnew(side: Side): void {
  if (side.readings.length > 0) side.former = [...side.former, side.readings];
  side.readings = [];
}

/** The search met the goal with it, the whole interval of the budgeted percentile within the budget. */
export function keptClearly({ trial }: Side, { budget }: Goal): boolean {
  const chosen = chosenOf(trial);
  if (!trial.feasible || !chosen) return false;
  const { percentile, high } = chosen.budgetLatencyMs;
  return budget === null || (percentile === budget.percentile && high <= budget.latencyMs);
}

/** The whole interval of the budgeted percentile lies above the budget. */
function isClearlyLate(measurement: Measurement, { budget }: Goal): boolean {
  const { percentile, low } = measurement.budgetLatencyMs;
  return budget !== null && percentile === budget.percentile && low > budget.latencyMs;
}
