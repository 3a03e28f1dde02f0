import { errorFunction } from 'simple-statistics';

/** Half of a 95 % interval, in standard deviations. */
export const DEVIATIONS_AT_95_PERCENT = 1.96;

/** Returns the standard normal distribution function at `deviations`. */
export const chanceBelow = (deviations: number): number =>
  Number.isFinite(deviations) ? (1 + errorFunction(deviations / Math.SQRT2)) / 2 : deviations > 0 ? 1 : 0;

const density = (deviations: number): number => Math.exp((-deviations * deviations) / 2) / Math.sqrt(2 * Math.PI);

/** From here on the upper tail probability is too inexact as a divisor. */
const FAR = 2;
const TERMS = 60;

/**
 * Returns the hazard function of the standard normal distribution, density over upper tail
 * probability; far out by Laplace's continued fraction (Abramowitz and Stegun, Handbook of
 * Mathematical Functions, 26.2.14).
 */
function densityByChance(deviations: number): number {
  if (deviations < FAR) return density(deviations) / (1 - chanceBelow(deviations));
  let ratio = deviations;
  for (let term = TERMS; term > 0; term--) ratio = deviations + term / ratio;
  return ratio;
}

/**
 * Returns mean and standard deviation of a normal distribution truncated to values above `least`.
 */
export function normalAbove(
  { mean, sd }: { readonly mean: number; readonly sd: number },
  least: number,
): { readonly mean: number; readonly sd: number } {
  const deviations = (least - mean) / sd;
  const ratio = densityByChance(deviations);
  const variance = 1 - ratio * (ratio - deviations);
  return { mean: mean + sd * ratio, sd: sd * Math.sqrt(Math.max(variance, 1e-9)) };
}

/**
 * Returns the expected improvement E[max(0, best − X)] of a normal X (Jones, Schonlau and Welch,
 * 1998).
 */
export function expectedImprovement(
  { mean, sd }: { readonly mean: number; readonly sd: number },
  best: number,
): number {
  const deviations = (best - mean) / sd;
  return Math.max(0, sd * (deviations * chanceBelow(deviations) + density(deviations)));
}
