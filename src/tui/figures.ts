import type { Measurement } from '#profiler/measurement.ts';
import { representative } from '#study/final/final.ts';
import type { StudyState } from '#study/records/state.ts';
import type { Trial } from '#study/types.ts';

/** Numbers of the trials that have a measurement on the Pareto front. */
export const frontTrials = (study: StudyState): ReadonlySet<number> =>
  new Set(study.front.map(({ trial }) => trial.number));

/**
 * Returns the figures that decide on a trial: of the measurement that represents it, at the usual
 * speed.
 */
export const findDecidingFigures = (study: StudyState, trial: Trial): Measurement | null =>
  representative(study, trial)?.compared ?? null;

/** True if these figures of the trial are normalised, not measured. */
export const isNormalised = (study: StudyState, trial: Trial): boolean =>
  findDecidingFigures(study, trial) !== findFigures(study, trial);

/** Returns the measurement that represents a trial. */
export const findFigures = (study: StudyState, trial: Trial): Measurement | null =>
  representative(study, trial)?.measurement ?? null;

/** Marks figures from the final; figures without it are from the search. */
export const FINAL_MARK = '†';

/** Returns the mark, or a space instead. */
export const finalMark = (study: StudyState, stands: Measurement | null): string =>
  study.finals.some(({ measurement }) => measurement === stands) ? FINAL_MARK : ' ';

/** True if the trial's representative measurement meets the goal. */
export const meetsGoal = (study: StudyState, trial: Trial): boolean =>
  representative(study, trial)?.feasible ?? trial.feasible;
