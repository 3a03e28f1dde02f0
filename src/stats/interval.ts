/** An estimate with its 95 % confidence interval. */
export interface Interval {
  readonly value: number;
  readonly low: number;
  readonly high: number;
}

/** Returns the geometric means of values and bounds; 0 if one of them is 0. */
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

/** Returns the interval of the value times a factor. */
export const timesInterval = ({ value, low, high }: Interval, factor: number): Interval => ({
  value: value * factor,
  low: low * factor,
  high: high * factor,
});

/**
 * Returns the sum of independent estimates: the distances of the ends from the values add in
 * quadrature. A single estimate is returned as it is.
 */
export function sumOfIntervals(intervals: readonly Interval[]): Interval {
  const [only, ...others] = intervals;
  if (only && others.length === 0) return only;
  const value = intervals.reduce((sum, each) => sum + each.value, 0);
  const below = Math.hypot(...intervals.map((each) => each.value - each.low));
  const above = Math.hypot(...intervals.map((each) => each.high - each.value));
  return { value, low: Math.max(0, value - below), high: value + above };
}

/** Returns the weighted mean of independent estimates. Needs a weight above 0. */
export function meanOfIntervals(intervals: readonly Interval[], weights: readonly number[]): Interval {
  const total = weights.reduce((sum, weight) => sum + weight, 0);
  return sumOfIntervals(intervals.map((each, index) => timesInterval(each, (weights[index] as number) / total)));
}

/**
 * Returns the product of independent estimates above 0: the distances of the ends from the values,
 * as shares of these, add in quadrature.
 */
export function productOfIntervals(one: Interval, other: Interval): Interval {
  const value = one.value * other.value;
  if (!(value > 0)) return { value: 0, low: 0, high: 0 };
  const below = Math.hypot(1 - one.low / one.value, 1 - other.low / other.value);
  const above = Math.hypot(one.high / one.value - 1, other.high / other.value - 1);
  return { value, low: value * Math.max(0, 1 - below), high: value * (1 + above) };
}
