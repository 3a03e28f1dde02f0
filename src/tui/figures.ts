import type { Measurement } from '../profiler/measurement.ts';
import type { Interval } from '../stats/interval.ts';
import { representative } from '../study/final/final.ts';
import { assess, costHalfWidth } from '../study/goal/goal.ts';
import type { StudyState } from '../study/records/state.ts';
import type { Trial } from '../study/types.ts';

/** Numbers of the trials that have a measurement on the Pareto front. */
export const frontTrials = (study: StudyState): ReadonlySet<number> =>
  new Set(study.front.map(({ trial }) => trial.number));

/** The measurement that stands for a trial. */
export const figuresOf = (study: StudyState, trial: Trial): Measurement | null =>
  representative(study, trial)?.measurement ?? null;

/** Stands beside figures that the final measured; figures without it are of the search. */
export const FINAL_MARK = '†';

/** The mark, or a space in its place. */
export const finalMark = (study: StudyState, stands: Measurement | null): string =>
  study.finals.some(({ measurement }) => measurement === stands) ? FINAL_MARK : ' ';

/** Whether the goal is met by the measurement that stands for the trial. */
export const meetsGoal = (study: StudyState, trial: Trial): boolean =>
  representative(study, trial)?.feasible ?? trial.feasible;

export interface Gain extends Interval {
  /** Decided by the final, in which both were measured in turn; else of the two measurements of the search. */
  readonly isFinal: boolean;
}

/**
 * How many times better the best is than the original: of the final when there was one; before it the ratio of what the
 * search measured, with the interval that the two intervals make together. null while there is nothing to compare.
 */
export function gainSoFar(study: StudyState): Gain | null {
  const { best, baseline, goal } = study;
  if (study.gain?.gain) return { ...study.gain.gain, isFinal: true };
  if (!best || !baseline || best === baseline || !best.feasible) return null;
  const [own, original] = [figuresOf(study, best), figuresOf(study, baseline)];
  if (!own || !original) return null;
  const logRatio = assess(original, baseline.candidate, goal).cost - assess(own, best.candidate, goal).cost;
  if (!Number.isFinite(logRatio)) return null;
  const half = Math.hypot(costHalfWidth(own, best.candidate, goal), costHalfWidth(original, baseline.candidate, goal));
  const [value, low, high] = [Math.exp(logRatio), Math.exp(logRatio - half), Math.exp(logRatio + half)];
  return { value, low, high, isFinal: false };
}
