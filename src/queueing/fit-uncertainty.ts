import type { AffineFit } from './fit-affine.ts';

/** A fitted figure with its 95 % interval; from 0 to Infinity where nothing tells how sure it is. */
export type Fitted = { readonly value: number; readonly low: number; readonly high: number };

/** The figures of a law's line, in nanoseconds but for the interference. */
export type LineEstimates = { readonly fixedNs: Fitted; readonly perSampleNs: Fitted; readonly perInstance: Fitted };

/** So many refits tell enough; of more observations several are left out at a time. */
const MOST_REFITS = 20;
/** Of a normal distribution, both sides together. */
const WIDTH_AT_95_PERCENT = 1.96;

/**
 * How sure a line is, by the jackknife over observations (Tukey 1958): refitted without each of them, or each group of them,
 * the spread of the answers times the number of groups less one is the variance. What one measurement decides alone shows.
 * `refit` gives the line of some observations, null where they hold no execution time.
 */
export function lineEstimates<T>(
  line: AffineFit,
  observations: readonly T[],
  refit: (some: readonly T[]) => AffineFit | null,
): LineEstimates {
  const groups = Math.min(MOST_REFITS, observations.length);
  const refits = Array.from({ length: groups }, (_, group) =>
    refit(observations.filter((_observation, index) => index % groups !== group)),
  ).filter((each) => each !== null);
  const estimate = (of: (fit: AffineFit) => number): Fitted => {
    const value = of(line);
    if (refits.length < 2) return { value, low: 0, high: Number.POSITIVE_INFINITY };
    const values = refits.map(of);
    const mean = values.reduce((sum, each) => sum + each, 0) / values.length;
    const squares = values.reduce((sum, each) => sum + (each - mean) ** 2, 0);
    const half = WIDTH_AT_95_PERCENT * Math.sqrt((squares * (values.length - 1)) / values.length);
    return { value, low: Math.max(0, value - half), high: value + half };
  };
  return {
    fixedNs: estimate(({ fixedNs }) => fixedNs),
    perSampleNs: estimate(({ perSampleNs }) => perSampleNs),
    perInstance: estimate(({ interference }) => interference.perInstance),
  };
}
