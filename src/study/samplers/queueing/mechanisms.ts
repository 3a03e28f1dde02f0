import { correctionParts } from '../../../perfmodel/correction.ts';
import { modelParts } from '../../../perfmodel/parts.ts';

/**
 * The parts of the sampler that a benchmark can leave out, to see what each is worth (`bench-search --without NAME`), and what
 * takes their place.
 */
export const mechanisms = {
  ...modelParts,
  ...correctionParts,
  inflation: 'the model is never taken to know less than it thinks',
  luck: 'readings that met the goal are taken at their word',
  time: 'the time that a trial takes does not count',
  scout: 'no trial only to see larger batches',
  returning: 'no candidate is tried again at other levels',
  repeating: 'what missed the goal is not measured again',
  staying: 'one level for each trial',
  lowest: 'the best level of a candidate, where a lower one promises about as much',
  'whole-batches': 'levels that are a few requests short of whole batches',
  refusals: 'refused loads say nothing of others',
  memory: 'the GPU memory that the server reports says nothing of loads',
  coverage: 'values of settings that were never measured do not keep a search from ending',
  bisection: 'after a refusal for memory more instances of other settings may be tried',
  belief: 'trials without a gain leave the belief in the next one as it was',
} as const satisfies Readonly<Record<string, string>>;

export type Mechanism = keyof typeof mechanisms;

/** What is left out. */
export type Without = ReadonlySet<Mechanism>;

export const NOTHING: Without = new Set();
