import type { ContinuousPolicy } from '#queueing/continuous/policy.ts';
import { matern52 } from '#stats/gaussian-process.ts';
import type { Choice } from './modelled-config.ts';
import { type CategoricalSettings, differingCount } from './setting-effects.ts';
import type { StageLoad } from './simulated.ts';

/**
 * The coordinates of a measurement in the residual's kernel; two residuals at a distance of 1 are
 * rather different.
 */
export interface Place {
  readonly coordinates: readonly number[];
  readonly settings: CategoricalSettings;
}

/** The use of a network, if the simulator gives it. */
export interface NetworkUse {
  /** The share of each model in a request's time, 0 to 1. */
  readonly shares: ReadonlyMap<string, number> | null;
  /** By model; null to use configs alone. */
  readonly loads?: ReadonlyMap<string, StageLoad> | null;
}

/**
 * Returns the coordinates of a choice at a level. Instances and batch size count only up to the
 * number that requests in flight can fill. Queue delays are scaled by the longest of the space. The
 * last coordinate is the distance of a preferred batch that is sent early from the largest one.
 */
export function toPlace(
  choice: Choice,
  level: number,
  longestDelayUs: number,
  use: NetworkUse = { shares: null },
): Place {
  if (choice.members) return placeInNetwork(choice, choice.members, level, longestDelayUs, use);
  return choice.continuous
    ? placeOfEngine(choice, choice.continuous, level)
    : placeOfOne(choice, level, longestDelayUs);
}

/**
 * The least weight of a stage's coordinates, also for a stage with an unknown share of a request's
 * time.
 */
const MIN_WEIGHT = 0.2;

/** The least number of busy instances that distinguishes two choices. */
const MIN_BUSY = 0.25;

/**
 * Returns the coordinates of a joint choice: the level, and instances, batch size and delay of each
 * stage, scaled by the square root of its share of a request's time over the largest share. Choices
 * that differ only in a stage that hardly counts are much alike. With `loads`, busy instances and
 * mean batches replace the values that configs allow: choices with the same use have the same
 * residuals.
 */
function placeInNetwork(
  { settings, clientBatch }: Choice,
  members: ReadonlyMap<string, Choice>,
  level: number,
  longestDelayUs: number,
  { shares, loads }: NetworkUse,
): Place {
  const largest = Math.max(0, ...(shares?.values() ?? []));
  const inFlight = level * (clientBatch ?? 1);
  const ofStages = [...members].flatMap(([stage, { policy, largestBatch, delayUs }]) => {
    const weight = largest > 0 ? Math.max(MIN_WEIGHT, Math.sqrt((shares?.get(stage) ?? 0) / largest)) : 1;
    const load = loads?.get(stage);
    return [
      (weight * Math.log2(load ? Math.max(MIN_BUSY, load.busyInstances) : policy.instances)) / 1.5,
      (weight * Math.log2(policy.devices ?? 1)) / 1.5,
      (weight * Math.log2(load?.meanBatch ?? Math.min(largestBatch, inFlight))) / 2,
      largestBatch > 1 && longestDelayUs > 0 ? weight * Math.sqrt(delayUs / longestDelayUs) : 0,
      (weight * Math.log2(largestBatch / Math.min(largestBatch, ...policy.preferredBatchSizes))) / 2,
    ];
  });
  return { coordinates: [...ofStages, Math.log2(inFlight) / 1.5, Math.log2(clientBatch ?? 1) / 2], settings };
}

/** Doublings of the tokens of a step, or of the KV cache, beyond which more make no difference. */
const MANY_TOKENS = { step: 15, cache: 24 };

/**
 * Returns the coordinates of an engine: the simulation's errors depend mostly on how full it is and
 * how prompts interrupt the decoding steps.
 */
function placeOfEngine(
  { policy, settings }: Choice,
  { maxSequences, maxStepTokens, chunksPrefill, mixesPrefill = true, kvCacheTokens, cachesPrefixes }: ContinuousPolicy,
  level: number,
): Place {
  const doublings = (tokens: number | null, most: number): number =>
    Math.min(most, tokens === null ? most : Math.log2(tokens));
  return {
    coordinates: [
      Math.log2(Math.min(policy.instances, level)) / 1.5,
      Math.log2(Math.min(maxSequences, level)) / 2,
      doublings(maxStepTokens, MANY_TOKENS.step) / 4,
      chunksPrefill ? 0 : 0.7,
      chunksPrefill || mixesPrefill ? 0 : 0.7,
      doublings(kvCacheTokens, MANY_TOKENS.cache) / 4,
      cachesPrefixes ? 0.7 : 0,
      Math.log2(level) / 1.5,
    ],
    settings,
  };
}

/** Returns the coordinates of one model. */
function placeOfOne(choice: Choice, level: number, longestDelayUs: number): Place {
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
