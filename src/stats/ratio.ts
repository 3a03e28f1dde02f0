import { mean, sampleStandardDeviation } from 'simple-statistics';
import { confidenceFactor } from './batch-means.ts';
import type { Interval } from './interval.ts';

/** Two things measured next to each other in time. */
export interface Pair {
  readonly numerator: number;
  readonly denominator: number;
  /** Half the 95 % interval of the ratio as a share of it, as far as the two measurements themselves know it; 0 if not given. */
  readonly relativeHalfWidth?: number;
}

/**
 * How many times larger the numerators are than the denominators, with its 95 % interval: Student t on the logarithms of
 * the pairs' ratios, so that what both share (a slow minute of the machine) cancels out. A few pairs are alike by chance at
 * times, so it is never narrower than the pairs' own intervals together make it. One pair alone says nothing about its
 * error: from 0 to Infinity. Throws RangeError without pairs or for a value that is not positive.
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
