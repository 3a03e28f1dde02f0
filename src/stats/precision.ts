import type { Interval } from './interval.ts';

/**
 * Returns the larger distance from the value to a bound over the value; Infinity for a value of 0
 * or less.
 */
export function relativeHalfWidth(interval: Interval): number {
  if (!(interval.value > 0)) return Number.POSITIVE_INFINITY;
  return Math.max(interval.high - interval.value, interval.value - interval.low) / interval.value;
}

/** True if the 95 % interval lies within ±`precision` (0.03 is 3 %) of its value. */
export function isPrecise(interval: Interval, precision: number): boolean {
  return relativeHalfWidth(interval) <= precision;
}
