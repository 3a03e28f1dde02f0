import type { Measurement } from '#profiler/measurement.ts';
import { isFeasible } from '../goal/goal.ts';
import type { StudyState } from '../records/state.ts';
import { correctMeasurement } from '../speed/changes.ts';
import type { Trial } from '../types.ts';

/**
 * The measurement that represents a trial, and whether it meets the goal as trials are compared.
 */
interface Stand {
  readonly measurement: Measurement | null | undefined;
  readonly feasible: boolean;
}

/**
 * Returns whether a trial meets the goal, in words. If its figures as measured say otherwise,
 * because machine or server ran at another speed then, it adds the speed at which trials are
 * compared.
 */
export function goalText(
  { goal, speeds }: Pick<StudyState, 'goal' | 'speeds'>,
  { candidate }: Trial,
  { measurement, feasible }: Stand,
): string {
  const verdict = feasible ? 'meets the goal' : 'misses the goal';
  const isCompared = measurement && correctMeasurement(speeds, measurement) !== null;
  if (!isCompared || isFeasible(measurement, candidate, goal) === feasible) return verdict;
  return `${verdict} at ${speeds.servers ? "the first server's" : 'the usual'} speed`;
}
