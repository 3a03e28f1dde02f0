import type { Interval } from '#stats/interval.ts';
import type { StudyState } from '../records/state.ts';
import { representative } from './final.ts';
import { computeRatio } from './pairs.ts';

export interface Gain extends Interval {
  /**
   * True if the final decided it, measuring both in turn; false if it comes from the search's two
   * measurements.
   */
  readonly isFinal: boolean;
}

/**
 * Returns how many times better the best is than the original: from the final if there was one,
 * otherwise the ratio of the search's measurements at the usual speed, with the interval that their
 * two intervals give. null while there is nothing to compare.
 */
export function gainSoFar(study: StudyState): Gain | null {
  const { best, baseline, goal } = study;
  if (study.gain?.gain) return { ...study.gain.gain, isFinal: true };
  if (!best || !baseline || best === baseline || !best.feasible) return null;
  const [compared, original] = [representative(study, best)?.compared, representative(study, baseline)?.compared];
  if (!compared || !original) return null;
  const gain = computeRatio(compared, best.candidate, original, baseline.candidate, goal);
  return gain && { ...gain, isFinal: false };
}
