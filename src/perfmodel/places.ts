import { matern52 } from '../stats/gaussian-process.ts';
import type { Choice } from './modelled-config.ts';
import { differingCount, type Settings } from './setting-effects.ts';

/** Where a measurement is, for the correction: coordinates in which a distance of 1 makes two of them rather unlike. */
export interface Place {
  readonly coordinates: readonly number[];
  readonly settings: Settings;
  /** Of the batches that form there, on average; left out, they tell nothing. */
  readonly batchDoublings?: number;
}

/** Instances and batches count no further than requests in flight can fill them. The longest delay of the space is 1. */
export function placeOf(choice: Choice, level: number, longestDelayUs: number): Place {
  const { policy, largestBatch, delayUs, settings } = choice;
  const waits = largestBatch > 1 && level > 1 && longestDelayUs > 0;
  return {
    coordinates: [
      Math.log2(Math.min(policy.instances, level)) / 1.5,
      Math.log2(Math.min(largestBatch, level)) / 2,
      waits ? Math.sqrt(delayUs / longestDelayUs) : 0,
      Math.log2(level) / 1.5,
    ],
    settings,
  };
}

/** Of a difference in one setting: of one that changes what the queueing model gets wrong, and of one that hardly does. */
export const SETTING_DISTANCES = [0.7, 0.15] as const;

function distanceBetween(a: Place, b: Place, settingDistance: number): number {
  let squares = 0;
  for (const [index, value] of a.coordinates.entries()) squares += (value - (b.coordinates[index] as number)) ** 2;
  if (a.settings !== b.settings) squares += differingCount(a.settings, b.settings) * settingDistance ** 2;
  return Math.sqrt(squares);
}

/**
 * How far the truth may be from the prediction, as logarithms: what changes slowly over the space, everywhere alike, at one place
 * alone, and with each doubling of the batch.
 */
export interface Scales {
  readonly smooth: number;
  readonly common: number;
  readonly local: number;
  /** How far apart a difference in one setting takes two places. */
  readonly settingDistance?: number;
  readonly perDoubling?: number;
}

/** The local part shrinks this much faster with distance. */
const LOCAL = 6;

export function kernelOf({
  smooth,
  common,
  local,
  settingDistance = SETTING_DISTANCES[0],
  perDoubling = 0,
}: Scales): (a: Place, b: Place) => number {
  return (a, b) => {
    const distance = distanceBetween(a, b, settingDistance);
    return (
      smooth ** 2 * matern52(distance) +
      common ** 2 +
      local ** 2 * matern52(LOCAL * distance) +
      perDoubling ** 2 * (a.batchDoublings ?? 0) * (b.batchDoublings ?? 0)
    );
  };
}
