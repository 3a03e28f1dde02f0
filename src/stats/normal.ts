import { errorFunction } from 'simple-statistics';

/** Half of a 95 % interval, in standard deviations. */
export const DEVIATIONS_AT_95_PERCENT = 1.96;

/** The chance that a standard normal value is below this. */
export const chanceBelow = (deviations: number): number =>
  Number.isFinite(deviations) ? (1 + errorFunction(deviations / Math.SQRT2)) / 2 : deviations > 0 ? 1 : 0;

const density = (deviations: number): number => Math.exp((-deviations * deviations) / 2) / Math.sqrt(2 * Math.PI);

/** From here on the chance to be above is known too badly to divide by it. */
const FAR = 2;
const TERMS = 60;

/**
 * The standard normal density by the chance to be above. Far out by Laplace's continued fraction, Abramowitz and Stegun, Handbook of
 * Mathematical Functions, 26.2.14.
 */
function densityByChance(deviations: number): number {
  if (deviations < FAR) return density(deviations) / (1 - chanceBelow(deviations));
  let ratio = deviations;
  for (let term = TERMS; term > 0; term--) ratio = deviations + term / ratio;
  return ratio;
}

/** The mean and the deviation of a normal value that is known to be above `least`. */
export function normalAbove(
  { mean, sd }: { readonly mean: number; readonly sd: number },
  least: number,
): { readonly mean: number; readonly sd: number } {
  const deviations = (least - mean) / sd;
  const ratio = densityByChance(deviations);
  const variance = 1 - ratio * (ratio - deviations);
  return { mean: mean + sd * ratio, sd: sd * Math.sqrt(Math.max(variance, 1e-9)) };
}

/** By how much a normal value is below `best` on average, counting nothing where it is above. */
export function expectedImprovement(
  { mean, sd }: { readonly mean: number; readonly sd: number },
  best: number,
): number {
  const deviations = (best - mean) / sd;
  return Math.max(0, sd * (deviations * chanceBelow(deviations) + density(deviations)));
}
