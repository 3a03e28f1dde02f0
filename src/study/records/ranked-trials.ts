import type { Measurement } from '#profiler/measurement.ts';
import { requireMetrics } from '../goal/goal.ts';
import { computeStanding, steadyStanding } from '../goal/ranking.ts';
import type { Speeds } from '../speed/speeds.ts';
import type { Goal, Trial } from '../types.ts';

/**
 * Ranks trials at the machine's usual speed. Keeps what it ranked, so that thousands are not ranked
 * again after each measurement.
 */
export class RankedTrials {
  readonly #known = new WeakMap<Trial, { readonly goal: Goal; readonly ranked: Trial }>();

  /**
   * Returns the trials with their measurements at the usual speed. Chooses again among those whose
   * measurements differ at it, and among all under `otherGoal`, a goal other than `goal`, the
   * journal's own. Errors: UNSUPPORTED when no measurement has the metrics that the other goal
   * needs.
   */
  rank(trials: readonly Trial[], speeds: Speeds, goal: Goal, otherGoal: Goal | null): readonly Trial[] {
    const ranked = trials.map((trial) => this.#rank(trial, speeds, otherGoal ?? goal, otherGoal !== null));
    if (!otherGoal) return ranked;
    const measured = ranked.find((trial) => trial.measurements.length > 0);
    if (measured && ranked.every((trial) => trial.chosen === null)) {
      requireMetrics(measured.measurements[0] as Measurement, measured.candidate, otherGoal);
    }
    return ranked;
  }

  #rank(trial: Trial, speeds: Speeds, goal: Goal, isOtherGoal: boolean): Trial {
    const scaled = trial.measurements.map((measurement) => speeds.comparable(measurement));
    const isScaled = scaled.some((measurement, index) => measurement !== trial.measurements[index]);
    if (!isScaled && !isOtherGoal) return trial;
    const known = this.#known.get(trial);
    if (known?.goal === goal && known.ranked.measurements.every((each, index) => each === scaled[index]))
      return known.ranked;
    const measurements = isScaled ? scaled : trial.measurements;
    const before = isOtherGoal ? computeStanding(trial.measurements, trial.candidate, goal).chosen : trial.chosen;
    const { chosen, feasible } = steadyStanding(before, measurements, trial.candidate, goal);
    const ranked = { ...trial, measurements, chosen, feasible: feasible && trial.failure === null };
    this.#known.set(trial, { goal, ranked });
    return ranked;
  }
}
