import type { Measured } from '../../../perfmodel/simulator.ts';
import { type Assessment, assess, compareAssessments, missingMetrics } from '../../goal.ts';
import type { Goal } from '../../types.ts';

/** Fitting service times takes the square of the number of measurements, and fitting corrections the cube; this many tell all that there is to know. */
const MOST = 40;
const BEST = 16;

/** What the model is made of, in its order: all of a usual study; of a long one the first, the best, and the latest. */
export function memorable(measured: readonly Measured[], goal: Goal): readonly Measured[] {
  if (measured.length <= MOST) return measured;
  const latest = measured.slice(1 + BEST - MOST);
  const best = measured
    .map((each) => ({ each, assessment: bestOf(each, goal) }))
    .sort((a, b) => compareAssessments(a.assessment, b.assessment))
    .slice(0, BEST)
    .map(({ each }) => each);
  const kept = new Set([...measured.slice(0, 1), ...best, ...latest]);
  return measured.filter((each) => kept.has(each));
}

const UNKNOWN: Assessment = {
  feasible: false,
  cost: Number.POSITIVE_INFINITY,
  violation: Number.POSITIVE_INFINITY,
};

const bestOf = ({ choice: { candidate }, measurements }: Measured, goal: Goal): Assessment =>
  measurements
    .filter((measurement) => missingMetrics(measurement, candidate, goal).length === 0)
    .map((measurement) => assess(measurement, candidate, goal))
    .reduce((best, each) => (compareAssessments(each, best) < 0 ? each : best), UNKNOWN);
