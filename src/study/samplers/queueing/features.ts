import type { Traits } from './arms.ts';
import { differing } from './arms.ts';
import type { Choice } from './choices.ts';
import { matern52 } from './gaussian-process.ts';

/** Where a measurement is, for the correction: coordinates in which a distance of 1 makes two of them rather unlike. */
export interface Place {
  readonly coordinates: readonly number[];
  readonly traits: Traits;
}

/** Instances and batches count no further than requests in flight can fill them. The longest delay of the space is 1. */
export function placeOf(choice: Choice, level: number, longestDelayUs: number): Place {
  const { policy, largestBatch, delayUs, traits } = choice;
  const waits = largestBatch > 1 && level > 1 && longestDelayUs > 0;
  return {
    coordinates: [
      Math.log2(Math.min(policy.instances, level)) / 1.5,
      Math.log2(Math.min(largestBatch, level)) / 2,
      waits ? Math.sqrt(delayUs / longestDelayUs) : 0,
      Math.log2(level) / 1.5,
    ],
    traits,
  };
}

/** Of a difference in one setting. */
const TRAIT_DISTANCE = 0.7;

export function distanceBetween(a: Place, b: Place): number {
  let squares = 0;
  for (const [index, value] of a.coordinates.entries()) squares += (value - (b.coordinates[index] as number)) ** 2;
  if (a.traits !== b.traits) squares += differing(a.traits, b.traits).length * TRAIT_DISTANCE ** 2;
  return Math.sqrt(squares);
}

/** How far the truth may be from the prediction, as logarithms: what changes slowly over the space, everywhere alike, and at one place alone. */
export interface Scales {
  readonly smooth: number;
  readonly common: number;
  readonly local: number;
}

/** The local part shrinks this much faster with distance. */
const LOCAL = 6;

export function kernelOf({ smooth, common, local }: Scales): (a: Place, b: Place) => number {
  return (a, b) => {
    const distance = distanceBetween(a, b);
    return smooth ** 2 * matern52(distance) + common ** 2 + local ** 2 * matern52(LOCAL * distance);
  };
}
