import type { Measurement } from '../../profiler/measurement.ts';
import { assess, isFeasible } from '../goal.ts';
import type { LevelCurve } from '../level/curve.ts';
import { levelsOf } from '../level/recommended.ts';
import { chosenOf } from '../ranking.ts';
import type { FinalMeasured } from '../records.ts';
import type { StudyState } from '../state.ts';
import type { Goal, Trial } from '../types.ts';

/** What the final looks at: everything at the study's usual speed. */
export type FinalState = Pick<
  StudyState,
  'trials' | 'baseline' | 'contender' | 'finals' | 'goal' | 'started' | 'voidRounds'
>;

/** A measurement of the final that decides, and the round that it was made in. */
export interface Reading {
  readonly round: number;
  readonly measurement: Measurement;
}

/** One side of the final: a trial, what all its readings say of its levels, and how it did in each round. */
export interface Side {
  readonly trial: Trial;
  readonly curve: LevelCurve | null;
  /** Where it is to be measured, and what it is recommended at. */
  readonly level: number;
  /** At that level it keeps the goal, as far as is known. */
  readonly holds: boolean;
  /** The last measurement of each of its visits, in the order of the rounds. */
  readonly readings: readonly Reading[];
}

/** Returns the side of a trial by everything that was read of it, in the search and in the final; null for one without a level. */
export function sideOf(trial: Trial | null, { goal, started, finals }: FinalState): Side | null {
  const chosen = trial?.chosen == null ? undefined : trial.measurements[trial.chosen];
  if (!trial || !chosen) return null;
  const own = finals.filter((final) => final.trial === trial.number);
  const all = [...trial.measurements, ...own.map(({ measurement }) => measurement)];
  const { curve, recommended } = levelsOf(all, trial.candidate, goal, started.levels);
  return {
    trial,
    curve,
    level: recommended ?? chosen.level.value,
    holds: recommended !== null,
    readings: lastOfVisits(own),
  };
}

/** What is measured last in a visit decides; figures that the client limited decide nothing. */
function lastOfVisits(own: readonly FinalMeasured[]): readonly Reading[] {
  const visits = Map.groupBy(
    own.filter(({ measurement }) => !measurement.client.bound),
    ({ round }) => round,
  );
  return [...visits].map(([round, made]) => ({ round, measurement: (made.at(-1) as FinalMeasured).measurement }));
}

/** What the search measured of it, and what the final decides by. */
export const measurementsOf = ({ trial, readings }: Side): readonly Measurement[] => [
  ...trial.measurements,
  ...readings.map(({ measurement }) => measurement),
];

/** More than half of these measurements of a trial met the goal. */
export const mostlyMeets = (measurements: readonly Measurement[], { candidate }: Trial, goal: Goal): boolean =>
  measurements.filter((measurement) => isFeasible(measurement, candidate, goal)).length * 2 > measurements.length;

/** The cost at the side's level as expected by its curve, less what its chance lacks; without one, the lowest of what met the goal. Infinity where nothing holds. */
export function costOf(side: Side, goal: Goal): number {
  const { trial, curve, level, holds } = side;
  if (!holds) return Number.POSITIVE_INFINITY;
  if (curve?.recommended) return -curve.recommended.worth;
  const met = measurementsOf(side).filter(
    (each) => each.level.value === level && isFeasible(each, trial.candidate, goal),
  );
  return Math.min(...met.map((each) => assess(each, trial.candidate, goal).cost));
}

/** The search met the goal with it, the whole interval of the budgeted percentile within the budget. */
export function keptClearly({ trial }: Side, { budget }: Goal): boolean {
  const chosen = chosenOf(trial);
  if (!trial.feasible || !chosen) return false;
  const { percentile, high } = chosen.budgetLatencyMs;
  return budget === null || (percentile === budget.percentile && high <= budget.latencyMs);
}
