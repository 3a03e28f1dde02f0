import type { Interval } from './interval.ts';
import { studentTQuantile } from './student-t.ts';

const CONFIDENCE_P = 0.975;
/** The largest lag-1 correlation that is used; a higher one leaves too little to estimate from. */
const MAX_CORRELATED = 0.9;

/**
 * A ratio of two totals over consecutive batches, its standard error, and the degrees of freedom.
 */
export interface RatioEstimate {
  readonly value: number;
  readonly standardError: number;
  readonly degrees: number;
}

/**
 * Returns Σ numerator / Σ denominator over consecutive batches, with the standard error of the
 * ratio estimator (Cochran, Sampling Techniques, section 6.3) from the spread between the batches.
 * With correlated batches their number counts as n(1−ρ)/(1+ρ), where ρ is the lag-1 correlation:
 * the effective size of an AR(1) sequence. `leastCorrelation` is the lowest ρ that is used;
 * negative where neighbours compensate each other.
 */
export function ratioOfBatches(
  numerators: readonly number[],
  denominators: readonly number[],
  leastCorrelation = 0,
): RatioEstimate {
  const n = numerators.length;
  const total = sum(denominators);
  const value = total > 0 ? sum(numerators) / total : 0;
  if (n < 2 || total <= 0) return { value, standardError: Number.POSITIVE_INFINITY, degrees: 1 };
  const residuals = numerators.map((numerator, index) => numerator - value * (denominators[index] as number));
  const squares = sum(residuals.map((residual) => residual * residual));
  if (squares === 0) return { value, standardError: 0, degrees: n - 1 };
  const products = sum(residuals.slice(1).map((residual, index) => residual * (residuals[index] as number)));
  const correlation = Math.min(Math.max(products / squares, leastCorrelation), MAX_CORRELATED);
  const effective = Math.max((n * (1 - correlation)) / (1 + correlation), 2);
  const standardError = Math.sqrt(squares / (n - 1) / effective) / (total / n);
  return { value, standardError, degrees: Math.min(effective, n) - 1 };
}

/**
 * Returns requests per second over consecutive batches with the 95 % interval (Student's t on batch
 * means).
 */
export function rateInterval(counts: readonly number[], seconds: readonly number[]): Interval {
  return toInterval(ratioOfBatches(counts, seconds), 0);
}

/**
 * Returns the mean of a count over consecutive batches, such as the tokens of requests, with its 95
 * % interval.
 */
export function meanInterval(totals: readonly number[], counts: readonly number[]): Interval {
  return toInterval(ratioOfBatches(totals, counts), 0);
}

/**
 * The least correlation if a batch completes the rest of the one before: MA(1) sequences of this
 * kind have ρ = −0.5.
 */
const MAKING_UP = -0.45;

/**
 * Returns the share of the due work that was done in consecutive batches, with its 95 % interval.
 * Work not done in its own batch is done in the next, so neighbours compensate each other.
 */
export function shareInterval(done: readonly number[], due: readonly number[]): Interval {
  return toInterval(ratioOfBatches(done, due, MAKING_UP), 0);
}

/** Returns the two-sided 95 % factor for an estimate with these degrees of freedom. */
export const confidenceFactor = (degrees: number): number => studentTQuantile(CONFIDENCE_P, degrees);

function toInterval(estimate: RatioEstimate, lowest: number): Interval {
  const half = confidenceFactor(estimate.degrees) * estimate.standardError;
  return { value: estimate.value, low: Math.max(lowest, estimate.value - half), high: estimate.value + half };
}

function sum(values: readonly number[]): number {
  let total = 0;
  for (const value of values) total += value;
  return total;
}
