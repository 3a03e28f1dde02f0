import type { Measurement } from '../../profiler/measurement.ts';
import { DEVIATIONS_AT_95_PERCENT, expectedImprovement } from '../../stats/normal.ts';
import { assess, compareAssessments, costHalfWidth } from '../goal.ts';
import { chosenOf } from '../ranking.ts';
import type { StudyState } from '../state.ts';
import type { Trial } from '../types.ts';
import { type Side, sideOf } from './sides.ts';

/** Of so many trials, the original config not among them, a final is made at most, … */
const MOST_FINALISTS = 4;
/** … and so many of them meet at once: what a third that is about as good would add is not worth its loads. */
export const MOST_AT_ONCE = 2;
/** The next best meets the first as long as to look again promises so much, as a logarithm; else it waits, or is done. */
export const WORTH_A_LOOK = 0.02;
/** Costs are never known better than this: no two runs are quite alike. */
const LEAST_HALF_WIDTH = 0.01;

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
