import { correctionParts } from '#perfmodel/correction.ts';
import { modelParts } from '#perfmodel/parts.ts';

/**
 * The mechanisms of the sampler that a benchmark can leave out (`bench-search --without NAME`),
 * each with the effect of leaving it out.
 */
export const mechanisms = {
  ...modelParts,
  ...correctionParts,
  'false-feasible': 'every feasible reading is taken at its word',
  'trial-cost': 'the cost of a trial in seconds does not count',
  returning: 'no candidate is tried again at other levels',
  staying: 'one level for each trial',
  lowest: 'the level of the highest acquisition value, where a lower one is worth about as much',
  'load-feasibility': 'neither a refused load nor the GPU memory that the server reports says anything about loads',
  coverage: 'values of settings that were never measured do not keep a search from ending',
  'local-search': 'candidates of a joint space are those of a sample only',
  'diminishing-returns': 'trials without a gain do not lower the expected gain of the next one',
} as const satisfies Readonly<Record<string, string>>;

export type Mechanism = keyof typeof mechanisms;

/** The mechanisms that are left out. */
export type Without = ReadonlySet<Mechanism>;

/** Leaves nothing out. */
export const NOTHING: Without = new Set();
