import { matern52 } from '#stats/gaussian-process.ts';
import type { Choice } from './modelled-config.ts';
import { type CategoricalSettings, differingCount } from './setting-effects.ts';

/**
 * The coordinates of a measurement in the residual's kernel; two residuals at a distance of 1 are
 * rather different.
 */
export interface Place {
  readonly coordinates: readonly number[];
  readonly settings: CategoricalSettings;
}

/**
 * Returns the coordinates of a choice of one model at a level. Instances and batch size count only
 * up to the number that requests in flight can fill. Queue delays are scaled by the longest of the
 * space. The last coordinate is the distance of a preferred batch that is sent early from the
 * largest one.
 */
export function placeOfOne(choice: Choice, level: number, longestDelayUs: number): Place {
  const { policy, largestBatch, delayUs, settings } = choice;
  const clientBatch = choice.clientBatch ?? 1;
  const smallestPreferred = Math.min(largestBatch, ...policy.preferredBatchSizes);
  const waits = largestBatch > 1 && level > 1 && longestDelayUs > 0;
  return {
    coordinates: [
      Math.log2(Math.min(policy.instances, level)) / 1.5,
      Math.log2(policy.devices ?? 1) / 1.5,
      Math.log2(Math.min(largestBatch, level * clientBatch)) / 2,
      waits ? Math.sqrt(delayUs / longestDelayUs) : 0,
      Math.log2(level * clientBatch) / 1.5,
      Math.log2(clientBatch) / 2,
      Math.log2(largestBatch / smallestPreferred) / 2,
    ],
    settings,
  };
}

/**
 * Hypotheses of the distance for each setting that differs: for a setting that changes the
 * simulator's error, and for one that hardly does.
 */
export const SETTING_DISTANCES = [0.7, 0.15] as const;

export function distanceBetween(a: Place, b: Place, settingDistance: number): number {
  let squares = 0;
  for (const [index, value] of a.coordinates.entries()) squares += (value - (b.coordinates[index] as number)) ** 2;
  if (a.settings !== b.settings) squares += differingCount(a.settings, b.settings) * settingDistance ** 2;
  return Math.sqrt(squares);
}

/**
 * Standard deviations of the parts of the residual's kernel, as logarithms: a smooth part over the
 * space, a constant, and a local part.
 */
export interface Scales {
  readonly smooth: number;
  readonly common: number;
  readonly local: number;
  /** The distance for each differing setting. */
  readonly settingDistance?: number;
}

/** The ratio of the smooth part's length scale to the local part's. */
const LOCAL = 6;

/** Returns the kernel of the residual: Matérn 5/2 for the smooth and the local part. */
export function createKernel({
  smooth,
  common,
  local,
  settingDistance = SETTING_DISTANCES[0],
}: Scales): (a: Place, b: Place) => number {
  return (a, b) => {
    const distance = distanceBetween(a, b, settingDistance);
    return smooth ** 2 * matern52(distance) + common ** 2 + local ** 2 * matern52(LOCAL * distance);
  };
}
