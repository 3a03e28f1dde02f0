import { mean, sampleVariance, sum } from 'simple-statistics';
import { ratioOfBatches } from './batch-means.ts';

/** A variance as it was estimated, and in how many degrees of freedom. */
export interface Spread {
  readonly variance: number;
  readonly degrees: number;
}

/** Of one value, by how much others of its kind disagree; null for fewer than two. */
export const spreadOf = (others: readonly number[]): Spread | null =>
  others.length < 2 ? null : { variance: sampleVariance([...others]), degrees: others.length - 1 };

/** Of the mean of at least two values in the order of time, of which neighbours may be alike. */
export const spreadOfMean = (values: readonly number[]): Spread => ({
  variance: ratioOfBatches(values, Array(values.length).fill(1)).standardError ** 2,
  degrees: values.length - 1,
});

/** Of one figure: its value in each measurement before and in each after. */
export interface Repeats {
  readonly before: readonly number[];
  readonly after: readonly number[];
}

/**
 * Of the difference between the means before and after, from the spread of repeated measurements: of one figure, when all have
 * the same, and of the mean over all figures. The figures have the same measurements, two or more on one side.
 */
export function spreadOfRepeats(figures: readonly Repeats[]): { readonly each: Spread; readonly together: Spread } {
  const [first] = figures as [Repeats];
  const degrees = first.before.length + first.after.length - 2;
  const share = (1 / first.before.length + 1 / first.after.length) / degrees;
  const squares = ({ before, after }: Repeats): number => squaresAround(before) + squaresAround(after);
  const meanOf = (side: keyof Repeats): number[] =>
    first[side].map((_, at) => mean(figures.map((figure) => figure[side][at] as number)));
  return {
    each: { variance: mean(figures.map(squares)) * share, degrees },
    together: { variance: squares({ before: meanOf('before'), after: meanOf('after') }) * share, degrees },
  };
}

function squaresAround(values: readonly number[]): number {
  const middle = mean([...values]);
  return sum(values.map((value) => (value - middle) ** 2));
}
