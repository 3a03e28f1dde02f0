import type { Choice } from '../modelled-config.ts';
import type { Place } from '../places.ts';
import type { StageLoad } from '../simulated.ts';

/** The use of a network. */
interface NetworkUse {
  /** The share of each model in a request's time, 0 to 1; null if unknown. */
  readonly shares: ReadonlyMap<string, number> | null;
  /** By model; null to use configs alone. */
  readonly loads: ReadonlyMap<string, StageLoad> | null;
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
export function placeInNetwork(
  { settings, clientBatch, members = new Map() }: Choice,
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
