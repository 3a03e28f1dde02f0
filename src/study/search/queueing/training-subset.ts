import type { MeasuredChoice } from '#perfmodel/service-model.ts';
import { type Assessment, assess, compareAssessments, missingMetrics } from '../../goal/goal.ts';
import type { Goal, Trial } from '../../types.ts';

/**
 * Measurements that the models are fitted to, at most. The cost of fitting service times grows with
 * the square of their number, that of the Gaussian process with the cube.
 */
const MAX_MEASURED = 40;
/** The number of these that are kept because they are the best. */
const BEST_KEPT = 16;

/**
 * Returns the measured candidates to fit the models to, in their order: all of them; in a long
 * study the first, the best 16 and the latest.
 */
export const trainingSubset = (measured: readonly MeasuredChoice[], goal: Goal): readonly MeasuredChoice[] =>
  chooseSubset(measured, ({ choice: { candidate }, measurements }) => findBest({ candidate, measurements }, goal));

/** Returns the trials to fit a model to, likewise: those with measurements. */
export const trialsToFit = (trials: readonly Trial[], goal: Goal): readonly Trial[] =>
  chooseSubset(
    trials.filter(({ measurements }) => measurements.length > 0),
    (trial) => findBest(trial, goal),
  );

function chooseSubset<T>(measured: readonly T[], assessTrial: (each: T) => Assessment): readonly T[] {
  if (measured.length <= MAX_MEASURED) return measured;
  const latest = measured.slice(1 + BEST_KEPT - MAX_MEASURED);
  const best = measured
    .map((each) => ({ each, assessment: assessTrial(each) }))
    .sort((a, b) => compareAssessments(a.assessment, b.assessment))
    .slice(0, BEST_KEPT)
    .map(({ each }) => each);
  const kept = new Set([...measured.slice(0, 1), ...best, ...latest]);
  return measured.filter((each) => kept.has(each));
}

const UNKNOWN: Assessment = {
  feasible: false,
  cost: Number.POSITIVE_INFINITY,
  violation: Number.POSITIVE_INFINITY,
};

const findBest = ({ candidate, measurements }: Pick<Trial, 'candidate' | 'measurements'>, goal: Goal): Assessment =>
  measurements
    .filter((measurement) => missingMetrics(measurement, candidate, goal).length === 0)
    .map((measurement) => assess(measurement, candidate, goal))
    .reduce((best, each) => (compareAssessments(each, best) < 0 ? each : best), UNKNOWN);
