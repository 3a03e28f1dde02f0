import { errorFunction } from 'simple-statistics';

/** Half of a 95 % interval, in standard deviations. */
export const DEVIATIONS_AT_95_PERCENT = 1.96;

/** The chance that a standard normal value is below this. */
export const chanceBelow = (deviations: number): number =>
  Number.isFinite(deviations) ? (1 + errorFunction(deviations / Math.SQRT2)) / 2 : deviations > 0 ? 1 : 0;

const density = (deviations: number): number => Math.exp((-deviations * deviations) / 2) / Math.sqrt(2 * Math.PI);

/** By how much a normal value is below `best` on average, counting nothing where it is above. */
export function expectedImprovement(
  { mean, sd }: { readonly mean: number; readonly sd: number },
  best: number,
): number {
  const deviations = (best - mean) / sd;
  return Math.max(0, sd * (deviations * chanceBelow(deviations) + density(deviations)));
}
