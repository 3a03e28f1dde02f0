import type { CandidateShape } from './types.ts';

/**
 * Returns the number of GPUs, or MIG slices, that a candidate uses: those that its instance groups
 * name, each once; for a language model's engine the number by its parallel sizes. A group that
 * names none uses all visible ones (`visible`), and one on the CPU none. For models that are tuned
 * together: the GPUs of all. undefined if a group uses all GPUs and their number is unknown.
 */
export function countGpus(shape: CandidateShape, visible: number | undefined): number | undefined {
  const parts = shape.members ? Object.values(shape.members) : [shape];
  const named = new Set<number>();
  let most = 0;
  for (const { parallelGpus, groups } of parts) {
    if (parallelGpus !== undefined) {
      most = Math.max(most, parallelGpus);
      continue;
    }
    const all: readonly Group[] = groups.length > 0 ? groups : ANYWHERE;
    for (const { device, gpus } of all) {
      if (device === 'cpu') continue;
      if (gpus === undefined && visible === undefined) return undefined;
      if (gpus === undefined) most = Math.max(most, visible ?? 0);
      else for (const gpu of gpus) named.add(gpu);
    }
  }
  return Math.max(most, named.size);
}

type Group = Pick<CandidateShape['groups'][number], 'device' | 'gpus'>;

/** The place of an instance without a place in the config: the server chooses. */
const ANYWHERE: readonly Group[] = [{ device: 'auto' }];
