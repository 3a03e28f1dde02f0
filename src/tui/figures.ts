import type { Measurement } from '../profiler/measurement.ts';
import { representative } from '../study/final/final.ts';
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
