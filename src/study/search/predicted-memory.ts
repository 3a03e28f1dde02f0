import { findGpuMemory } from '#perfmodel/gpu-memory.ts';
import { toSettingsKey } from '#perfmodel/settings-key.ts';
import type { Candidate } from '#space/types.ts';
import type { Trial } from '../types.ts';

/** GPU memory in use, and in total, while a config was served, in MiB. */
interface Footing {
  readonly trial: number;
  readonly settingsKey: string;
  readonly instances: number;
  readonly maxBatchSize: number;
  readonly usedMib: number;
  readonly totalMib: number;
}

/**
 * Returns why the candidate cannot fit into GPU memory, or null. It extrapolates from two trials of
 * the same kind with fewer instances, the same batch size, and no larger batch than the candidate:
 * their difference gives the memory per instance. Larger batches take more, so the figure is a
 * lower bound.
 */
export function memoryReason({ shape }: Candidate, trials: readonly Trial[]): string | null {
  // Each of several models takes memory of its own: the search fits their need (`gpuMemoryNeed`),
  // which is never certain.
  if (shape.members) return null;
  const { instances: instanceCount, maxBatchSize } = shape.policy;
  const key = toSettingsKey(shape);
  const smaller = listFootings(trials).filter(
    (each) => each.instances < instanceCount && each.maxBatchSize <= maxBatchSize && each.settingsKey === key,
  );
  for (const footings of Map.groupBy(smaller, (each) => each.maxBatchSize).values()) {
    const [fewest, most] = [footings.reduce(withFewer), footings.reduce(withMore)];
    if (fewest.instances === most.instances) continue;
    const perInstanceMib = (most.usedMib - fewest.usedMib) / (most.instances - fewest.instances);
    const neededMib = most.usedMib + perInstanceMib * (instanceCount - most.instances);
    if (neededMib > most.totalMib) {
      const figures = `about ${Math.round(neededMib)} of ${Math.round(most.totalMib)} MiB`;
      return `needs ${figures} of GPU memory, as trials ${fewest.trial} and ${most.trial} show`;
    }
  }
  return null;
}

const withFewer = (a: Footing, b: Footing): Footing => (b.instances < a.instances ? b : a);
const withMore = (a: Footing, b: Footing): Footing => (b.instances > a.instances ? b : a);

/**
 * Memoized by the list of trials, because every candidate of a space is held against the same one.
 */
const known = new WeakMap<readonly Trial[], readonly Footing[]>();

function listFootings(trials: readonly Trial[]): readonly Footing[] {
  const footings = known.get(trials) ?? trials.flatMap(listTrialFootings);
  known.set(trials, footings);
  return footings;
}

/** Returns nothing if the server does not report its GPUs. */
function listTrialFootings({ number: trial, candidate: { shape }, measurements }: Trial): Footing[] {
  const memory = findGpuMemory(measurements);
  if (memory === null || memory.totalMib === null) return [];
  const { instances, maxBatchSize } = shape.policy;
  const { usedMib, totalMib } = memory;
  return [{ trial, settingsKey: toSettingsKey(shape), instances, maxBatchSize, usedMib, totalMib }];
}
