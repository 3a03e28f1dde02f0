/** An estimate with its 95 % confidence interval. */
export interface Interval {
  readonly value: number;
  readonly low: number;
  readonly high: number;
}

/** Returns the geometric means of values and bounds; 0 if one of them is. */
export function geometricMean(intervals: readonly Interval[]): Interval {
  const [only, ...others] = intervals;
  if (only && others.length === 0) return only;
  const of = (figures: readonly number[]): number =>
    Math.exp(figures.reduce((total, figure) => total + Math.log(figure), 0) / figures.length);
  return {
    value: of(intervals.map(({ value }) => value)),
    low: of(intervals.map(({ low }) => low)),
    high: of(intervals.map(({ high }) => high)),
  };
}
