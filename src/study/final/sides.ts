import type { Measurement } from '#profiler/measurement.ts';
import { assess, costOfServed, isFeasible } from '../goal/goal.ts';
import { findChosen } from '../goal/ranking.ts';
import type { LevelCurve } from '../level-curve.ts';
import type { LevelLine } from '../level-line.ts';
import { chooseLevels } from '../recommended.ts';
import type { FinalMeasured } from '../records/records.ts';
import type { StudyState } from '../records/state.ts';
import type { Goal, Trial } from '../types.ts';

/**
 * The state that the final depends on, at the study's usual speed. Levels are positions on a line
 * (`level/line.ts`).
 */
export interface FinalState
  extends Pick<StudyState, 'trials' | 'baseline' | 'contender' | 'finals' | 'goal' | 'started' | 'voidRounds'> {
  /** The figure that changes along the lines. */
  readonly varies?: LevelLine['varies'];
}

/** A deciding measurement of the final with its round. */
export interface Reading {
  readonly round: number;
  readonly measurement: Measurement;
}

/**
 * One side of the final: a trial, its levels by all its readings, and its reading in each round.
 */
export interface Side {
  readonly trial: Trial;
  readonly curve: LevelCurve | null;
  /** The level to measure and to recommend. */
  readonly level: number;
  /** True if the side is likely to meet the goal at that level. */
  readonly holds: boolean;
  /** The last measurement of each visit, by round. */
  readonly readings: readonly Reading[];
}

/**
 * Returns the side of a trial by all its readings in search and final; null for a trial without a
 * level.
 */
export function toSide(trial: Trial | null, { goal, started, finals, varies }: FinalState): Side | null {
  const chosen = trial?.chosen == null ? undefined : trial.measurements[trial.chosen];
  if (!trial || !chosen) return null;
  const keptFinals = finals.filter((final) => final.trial === trial.number);
  const known = keptFinals.length === 0 ? searched.get(trial) : undefined;
  const levels: StatedLevels = [goal, started.levels, varies];
  if (known?.levels.every((each, at) => each === levels[at])) return known.side;
  const all = [...trial.measurements, ...keptFinals.map(({ measurement }) => measurement)];
  const { curve, recommended } = chooseLevels(all, trial.candidate, ...levels);
  const side = {
    trial,
    curve,
    level: recommended ?? chosen.level.value,
    holds: recommended !== null,
    readings: lastOfVisits(keptFinals),
  };
  if (keptFinals.length === 0) searched.set(trial, { levels, side });
  return side;
}

type StatedLevels = readonly [Goal, StudyState['started']['levels'], LevelLine['varies'] | undefined];

/**
 * Sides of trials that are not in the final: a study of thousands of trials asks for all of them
 * after each.
 */
const searched = new WeakMap<Trial, { readonly levels: StatedLevels; readonly side: Side }>();

/** Returns the last measurement of each visit that the client did not limit. */
function lastOfVisits(measureds: readonly FinalMeasured[]): readonly Reading[] {
  const visits = Map.groupBy(
    measureds.filter(({ measurement }) => !measurement.client.bound),
    ({ round }) => round,
  );
  return [...visits].map(([round, made]) => ({ round, measurement: (made.at(-1) as FinalMeasured).measurement }));
}

/** Returns the search's measurements and the deciding ones of the final. */
export const listMeasurements = ({ trial, readings }: Side): readonly Measurement[] => [
  ...trial.measurements,
  ...readings.map(({ measurement }) => measurement),
];

/** True if more than half of these measurements of a trial met the goal. */
export const mostlyMeets = (measurements: readonly Measurement[], { candidate }: Trial, goal: Goal): boolean =>
  measurements.filter((measurement) => isFeasible(measurement, candidate, goal)).length * 2 > measurements.length;

/**
 * Returns the expected cost at the side's level by its curve, with the penalty for its probability;
 * without a curve the lowest cost that met the goal. Infinity if the side does not hold.
 */
export function computeCost(side: Side, goal: Goal): number {
  const { trial, curve, level, holds } = side;
  if (!holds) return Number.POSITIVE_INFINITY;
  if (curve?.recommended) return costServing(side, curve.recommended.worth, goal);
  const met = listMeasurements(side).filter(
    (each) => each.level.value === level && isFeasible(each, trial.candidate, goal),
  );
  return Math.min(...met.map((each) => assess(each, trial.candidate, goal).cost));
}

/**
 * Returns the cost of a side that serves this much (`served` is the logarithm of a throughput).
 * Only for goals by throughput alone, as those with curves are.
 */
export function costServing({ trial }: Pick<Side, 'trial'>, served: number, goal: Goal): number {
  const chosen = findChosen(trial);
  return chosen ? costOfServed(served, chosen, trial.candidate, goal) : Number.POSITIVE_INFINITY;
}

/**
 * True if the search met the goal with the whole interval of the budgeted percentile within the
 * budget.
 */
export function keptClearly({ trial }: Side, { budget }: Goal): boolean {
  const chosen = findChosen(trial);
  if (!trial.feasible || !chosen) return false;
  const { percentile, high } = chosen.budgetLatencyMs;
  return budget === null || (percentile === budget.percentile && high <= budget.latencyMs);
}
