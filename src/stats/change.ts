import { errorFunction, probit } from 'simple-statistics';
import type { Interval } from './interval.ts';

/** By what factor a figure changed, as far as the intervals of both readings tell. */
export interface Change {
  readonly ratio: number;
  /** Of the ratio, at the confidence asked for. */
  readonly low: number;
  readonly high: number;
  /** How sure it is that the ratio is below 1, or above it: from 0.5 to 1. */
  readonly sureness: number;
}

/** Intervals here are at 95 %. */
const Z95 = 1.959964;

/**
 * The change from one independent reading to another, with its two-sided interval: standard errors from the 95 % intervals,
 * on logarithms, where a factor is a difference and errors add up by squares. `confidence` is below 1. A reading of 0
 * has no logarithm: one before gives no ratio, from 0 to Infinity; one after a ratio as far as its interval goes.
 */
export function changeBetween(before: Interval, after: Interval, confidence: number): Change {
  if (before.value > 0 && after.value === 0) {
    const high = before.low > 0 ? after.high / before.low : Number.POSITIVE_INFINITY;
    return { ratio: 0, low: 0, high, sureness: high < 1 ? 1 : 0.5 };
  }
  if (!(before.value > 0 && after.value > 0)) {
    return { ratio: after.value / before.value || 0, low: 0, high: Number.POSITIVE_INFINITY, sureness: 0.5 };
  }
  const error = Math.hypot(relativeError(before), relativeError(after));
  const log = Math.log(after.value / before.value);
  const half = probit(1 - (1 - confidence) / 2) * error;
  const z = error > 0 ? Math.abs(log) / error : log === 0 ? 0 : Number.POSITIVE_INFINITY;
  return {
    ratio: Math.exp(log),
    low: Math.exp(log - half),
    high: Math.exp(log + half),
    sureness: Number.isFinite(z) ? (1 + errorFunction(z / Math.SQRT2)) / 2 : 1,
  };
}

/** Standard error of the logarithm; by the wider side, as intervals of percentiles are not even. */
function relativeError({ value, low, high }: Interval): number {
  const above = high > value ? Math.log(high / value) : 0;
  const below = low < value ? (low > 0 ? Math.log(value / low) : 1) : 0;
  return Math.max(above, below) / Z95;
}
