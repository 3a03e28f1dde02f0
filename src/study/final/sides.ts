import { median } from 'simple-statistics';
import type { LoadLevel } from '../../loadgen/types.ts';
import type { Measurement } from '../../profiler/measurement.ts';
import { DEVIATIONS_AT_95_PERCENT, expectedImprovement } from '../../stats/normal.ts';
import { assess, compareAssessments, costHalfWidth, isFeasible, missingMetrics } from '../goal.ts';
import { chosenOf } from '../ranking.ts';
import type { StudyState } from '../state.ts';
import type { Goal, Trial } from '../types.ts';

/** How often one side may go to a lower level because the one before does not hold. */
const MAX_STEPS_DOWN = 4;
/** Of the level at which a side would just meet the goal; once more for each step down before, as latency did not fall with the level. */
const TO_BE_SAFE = 0.9;
/** One disturbed round shall not decide how far: it goes down again in the next. */
const LOWEST_STEP = 0.7;
/** Of so many trials, the original config not among them, a final is made at most, … */
const MOST_FINALISTS = 4;
/** … and so many of them meet at once: what a third that is about as good would add is not worth its loads. */
export const MOST_AT_ONCE = 2;
/** The next best meets the first as long as to look again promises so much, as a logarithm; else it waits, or is done. */
export const WORTH_A_LOOK = 0.02;
/** Costs are never known better than this: no two runs are quite alike. */
const LEAST_HALF_WIDTH = 0.01;
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
  steps: number;
  /** The round in which it last went to a lower level within its turn; 0 for none. */
  loweredIn: number;
  readings: readonly Reading[];
  /** Those before it went to its present level: what there is to go by when the final is cut short right after. */
  former: readonly Reading[];
  /** Why it is measured no more. */
  out: 'missed' | 'slower' | null;
}

/** A side at the level that it enters at; null for a trial that the search chose none for. */
export function sideOf(trial: Trial | null, { goal, started }: StudyState): Side | null {
  const chosen = trial?.chosen == null ? undefined : trial.measurements[trial.chosen];
  if (!trial || !chosen) return null;
  const level = Math.max(entryLevel(chosen, goal), Math.min(started.levels.low, chosen.level.value));
  return { trial, level, steps: 0, loweredIn: 0, readings: [], former: [], out: null };
}

/**
 * The level that the search chose; one that should leave the budget some room where that measurement says that it may as
 * well be over it: what does not hold costs rounds, and near its limit a server loses little throughput by it.
 */
function entryLevel({ level, budgetLatencyMs: { percentile, value, high } }: Measurement, { budget }: Goal): number {
  if (percentile !== budget?.percentile || high <= budget.latencyMs || value > budget.latencyMs) return level.value;
  return Math.min(level.value, roundedDown(level, (level.value * TO_BE_SAFE * budget.latencyMs) / value));
}

const roundedDown = ({ mode }: LoadLevel, value: number): number =>
  mode === 'concurrency' ? Math.floor(value) : Number(value.toPrecision(3));

/**
 * Who may be in the final, the best of the search first: the trials that stand like it and before the original config, each
 * candidate once. `close` of them, from the first, are so near, or so unsure, that measuring them again promises a gain.
 */
export function entrantsOf(state: StudyState): { sides: Side[]; close: number } {
  const { trials, contender, baseline, goal } = state;
  const first = sideOf(contender, state);
  if (!first || !contender || !baseline || contender.number === baseline.number) return { sides: [], close: 0 };
  const stands = (trial: Trial) => assess(chosenOf(trial) as Measurement, trial.candidate, goal);
  const original = chosenOf(baseline) ? stands(baseline) : null;
  const others = trials
    .filter((trial) => trial !== contender && trial !== baseline && chosenOf(trial) !== undefined)
    .filter((trial) => trial.feasible && contender.feasible)
    .filter((trial) => original === null || compareAssessments(stands(trial), original) < 0)
    .sort((a, b) => compareAssessments(stands(a), stands(b)) || a.number - b.number);
  const byCandidate = Map.groupBy([contender, ...others], ({ candidate }) => candidate.fingerprint);
  const [, ...distinct] = [...byCandidate.values()].map(([best]) => best as Trial).slice(0, MOST_FINALISTS);
  const isClose = (trial: Trial): boolean => {
    const [best, own] = [chosenOf(contender) as Measurement, chosenOf(trial) as Measurement];
    const halfWidth = Math.hypot(costHalfWidth(best, goal), costHalfWidth(own, goal));
    return promiseOf(stands(trial).cost - stands(contender).cost, halfWidth) >= WORTH_A_LOOK;
  };
  const close = distinct.findIndex((trial) => !isClose(trial));
  return {
    sides: [first, ...distinct.flatMap((trial) => sideOf(trial, state) ?? [])],
    close: Math.min(MOST_AT_ONCE, 1 + (close < 0 ? distinct.length : close)),
  };
}

/** What one that is behind by so much may yet gain on average, both as logarithms; `halfWidth` is half the 95 % interval of it. */
export function promiseOf(behind: number, halfWidth: number): number {
  const sd = Math.hypot(LEAST_HALF_WIDTH, halfWidth) / DEVIATIONS_AT_95_PERCENT;
  return expectedImprovement({ mean: behind, sd }, 0);
}

const misses = ({ trial, readings }: Side, goal: Goal): readonly Measurement[] =>
  readings
    .map(({ measurement }) => measurement)
    .filter((measurement) => !isFeasible(measurement, trial.candidate, goal));

/** It cannot have met the goal in most of so many rounds, or missed it clearly and never met it: no further round is needed to know. */
export function isLate(side: Side, goal: Goal, rounds: number): boolean {
  const late = misses(side, goal);
  const isLost = late.length * 2 >= Math.max(rounds, ROUNDS_TO_MISS, side.readings.length);
  const isAlwaysLate = late.length === side.readings.length;
  return isLost || (isAlwaysLate && late.some((measurement) => isClearlyLate(measurement, goal)));
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

/** Goes to a lower level; false where there is none, or it went often enough. */
export function stepDown(side: Side, goal: Goal, lowest: number): boolean {
  const lower = side.steps < MAX_STEPS_DOWN ? lowerLevel(side, goal, lowest) : null;
  if (lower === null) return false;
  side.level = lower;
  side.steps++;
  startAnew(side);
  return true;
}

/** What was read so far is no longer to be compared with what follows. */
export function startAnew(side: Side): void {
  if (side.readings.length > 0) side.former = side.readings;
  side.readings = [];
}

/** The search's measurement at the highest level below this one that met the goal. */
export function bestBelow(trial: Trial, level: number, goal: Goal): Measurement | undefined {
  return trial.measurements
    .filter((measurement) => measurement.level.value < level && isFeasible(measurement, trial.candidate, goal))
    .sort((a, b) => b.level.value - a.level.value)[0];
}

/**
 * The higher of two: the next lower level that met the goal in the search, and the one at which this side's own rounds say
 * that it should. In a closed loop latency grows about as the level does: what is late by a factor is too high by it.
 */
function lowerLevel({ trial, level, steps, readings }: Side, goal: Goal, lowest: number): number | null {
  if (!trial.feasible) return null;
  const excess = median(readings.map(({ measurement }) => violationOf(measurement, trial, goal)));
  const within = level * Math.max(LOWEST_STEP, TO_BE_SAFE ** (1 + steps) / (1 + excess));
  const [first] = readings;
  const rounded = first ? roundedDown(first.measurement.level, within) : 0;
  const lower = Math.max(rounded, bestBelow(trial, level, goal)?.level.value ?? 0);
  return lower >= lowest && lower < level ? lower : null;
}

function violationOf(measurement: Measurement, { candidate }: Trial, goal: Goal): number {
  const isKnown = missingMetrics(measurement, candidate, goal).length === 0;
  return isKnown ? assess(measurement, candidate, goal).violation : Number.POSITIVE_INFINITY;
}

/** The whole interval of the budgeted percentile lies above the budget. */
function isClearlyLate(measurement: Measurement, { budget }: Goal): boolean {
  const { percentile, low } = measurement.budgetLatencyMs;
  return budget !== null && percentile === budget.percentile && low > budget.latencyMs;
}
