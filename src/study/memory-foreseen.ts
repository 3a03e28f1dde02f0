import { gpuMemoryOf } from '../perfmodel/gpu-memory.ts';
import { batchOf, sameKind } from '../perfmodel/same-kind.ts';
import type { Candidate } from '../space/types.ts';
import { instancesOf } from '../triton/instances.ts';
import type { ModelConfig } from '../triton/model-config.ts';
import type { Trial } from './types.ts';

/** What was in use on the GPUs while a config served, and what they have, in MiB. */
interface Footing {
  readonly trial: number;
  readonly config: ModelConfig;
  readonly instances: number;
  readonly usedMib: number;
  readonly totalMib: number;
}

/**
 * Why the candidate cannot fit, by the GPU memory that its kind was seen to take with fewer instances and no larger batch; null when
 * nothing says so. Two counts of instances at one batch size tell what one of them takes; larger batches take more, so that the
 * figure is the least that the candidate needs.
 */
export function memoryReason({ config }: Candidate, trials: readonly Trial[]): string | null {
  const asked = instancesOf(config);
  const smaller = footingsOf(trials).filter(
    (each) => each.instances < asked && batchOf(each.config) <= batchOf(config) && sameKind(config, each.config),
  );
  for (const footings of Map.groupBy(smaller, (each) => batchOf(each.config)).values()) {
    const [fewest, most] = [footings.reduce(withFewer), footings.reduce(withMore)];
    if (fewest.instances === most.instances) continue;
    const perInstanceMib = (most.usedMib - fewest.usedMib) / (most.instances - fewest.instances);
    const neededMib = most.usedMib + perInstanceMib * (asked - most.instances);
    if (neededMib > most.totalMib) {
      const figures = `about ${Math.round(neededMib)} of ${Math.round(most.totalMib)} MiB`;
      return `needs ${figures} of GPU memory, as trials ${fewest.trial} and ${most.trial} show`;
    }
  }
  return null;
}

const withFewer = (a: Footing, b: Footing): Footing => (b.instances < a.instances ? b : a);
const withMore = (a: Footing, b: Footing): Footing => (b.instances > a.instances ? b : a);

/** Of each list of trials once: all candidates of a space are held against the same one. */
const known = new WeakMap<readonly Trial[], readonly Footing[]>();

function footingsOf(trials: readonly Trial[]): readonly Footing[] {
  const footings = known.get(trials) ?? trials.flatMap(footingOf);
  known.set(trials, footings);
  return footings;
}

/** None where the server does not report its GPUs. */
function footingOf({ number: trial, candidate: { config }, measurements }: Trial): Footing[] {
  const memory = gpuMemoryOf(measurements);
  if (memory === null || memory.totalMib === null) return [];
  return [{ trial, config, instances: instancesOf(config), usedMib: memory.usedMib, totalMib: memory.totalMib }];
}
