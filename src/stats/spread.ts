import { mean, sampleVariance, sum } from 'simple-statistics';
import { ratioOfBatches } from './batch-means.ts';

/** An estimated variance with its degrees of freedom. */
export interface Spread {
  readonly variance: number;
  readonly degrees: number;
}

/**
 * Returns the variance of a value by the disagreement of others of its kind; null for fewer than
 * two.
 */
export const findSpread = (others: readonly number[]): Spread | null =>
  others.length < 2 ? null : { variance: sampleVariance([...others]), degrees: others.length - 1 };

/**
 * Returns the variance of the mean of at least two values in the order of time; neighbours may be
 * correlated.
 */
export const spreadOfMean = (values: readonly number[]): Spread => ({
  variance: ratioOfBatches(values, Array(values.length).fill(1)).standardError ** 2,
  degrees: values.length - 1,
});

/** One figure in each measurement before and after. */
export interface Repeats {
  readonly before: readonly number[];
  readonly after: readonly number[];
}

/**
 * Returns the variance of the difference between the means before and after, by the spread of
 * repeated measurements: of one figure, pooled over all, and of the mean over the figures. All
 * figures have the same measurements, two or more on one side.
 */
export function spreadOfRepeats(figures: readonly Repeats[]): { readonly each: Spread; readonly together: Spread } {
  const [first] = figures as [Repeats];
  const degrees = first.before.length + first.after.length - 2;
  const share = (1 / first.before.length + 1 / first.after.length) / degrees;
  const squares = ({ before, after }: Repeats): number => squaresAround(before) + squaresAround(after);
  const computeMeans = (side: keyof Repeats): number[] =>
    first[side].map((_, at) => mean(figures.map((figure) => figure[side][at] as number)));
  return {
    each: { variance: mean(figures.map(squares)) * share, degrees },
    together: { variance: squares({ before: computeMeans('before'), after: computeMeans('after') }) * share, degrees },
  };
}

function squaresAround(values: readonly number[]): number {
  const middle = mean([...values]);
  return sum(values.map((value) => (value - middle) ** 2));
}
