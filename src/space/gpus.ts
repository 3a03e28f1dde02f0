import type { CandidateShape } from './types.ts';

/**
 * Returns how many GPUs, or MIG slices, a candidate uses: those that its instance groups name, each once; of an engine of a language model as many
 * as its parallel sizes ask for. A group that names none has all that the server shows (`visible`), and one on the CPU none. Of models that are
 * tuned together: the GPUs of all. undefined if a group has all GPUs and their number is unknown.
 */
export function gpusOf(shape: CandidateShape, visible: number | undefined): number | undefined {
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

/** Where the server places an instance without a place in the config. */
const ANYWHERE: readonly Group[] = [{ device: 'auto' }];
