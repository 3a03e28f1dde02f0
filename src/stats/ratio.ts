import { mean, sampleStandardDeviation } from 'simple-statistics';
import { confidenceFactor } from './batch-means.ts';
import type { Interval } from './interval.ts';
import { spreadOfRepeats } from './spread.ts';
import { studentTQuantile } from './student-t.ts';

/** Two measurements next to each other in time. */
export interface Pair {
  readonly numerator: number;
  readonly denominator: number;
  /**
   * Half the 95 % interval of the ratio as a share of it, by the measurements' own intervals; 0 if
   * absent.
   */
  readonly relativeHalfWidth?: number;
}

/**
 * Returns the mean ratio of numerators to denominators with its 95 % interval: Student's t on the
 * log ratios of the pairs, so that what both share (a slow minute of the machine) cancels out. A
 * few pairs may agree by chance, so the interval is never narrower than by the pairs' own
 * intervals. A single pair has no known error: 0 to Infinity. Throws RangeError without pairs and
 * for a value that is not positive.
 */
export function ratioInterval(pairs: readonly Pair[]): Interval {
  if (pairs.length === 0) throw new RangeError('a ratio needs at least one pair');
  const logs = pairs.map(({ numerator, denominator }) => {
    if (!(numerator > 0 && denominator > 0)) throw new RangeError(`no ratio of ${numerator} to ${denominator}`);
    return Math.log(numerator / denominator);
  });
  const middle = mean(logs);
  if (logs.length === 1) return { value: Math.exp(middle), low: 0, high: Number.POSITIVE_INFINITY };
  const between = (confidenceFactor(logs.length - 1) * sampleStandardDeviation(logs)) / Math.sqrt(logs.length);
  const within = Math.hypot(...pairs.map(({ relativeHalfWidth = 0 }) => relativeHalfWidth)) / logs.length;
  const half = Math.max(between, within);
  return { value: Math.exp(middle), low: Math.exp(middle - half), high: Math.exp(middle + half) };
}

/**
 * Returns the ratio of what was measured several times after a change to what was before it, of
 * geometric means, with its 95 % interval (Student's t on logarithms, by the spread of both sides).
 * null with fewer than two values on a side, or one of 0.
 */
export function ratioOfRepeats(before: readonly number[], after: readonly number[]): Interval | null {
  if (Math.min(before.length, after.length) < 2 || [...before, ...after].some((value) => !(value > 0))) return null;
  const logs = { before: before.map(Math.log), after: after.map(Math.log) };
  const { variance, degrees } = spreadOfRepeats([logs]).each;
  const middle = mean(logs.after) - mean(logs.before);
  const half = studentTQuantile(0.975, degrees) * Math.sqrt(variance);
  return { value: Math.exp(middle), low: Math.exp(middle - half), high: Math.exp(middle + half) };
}
