import type { Assignment } from '../space/types.ts';
import { atLevels } from '../study/samplers/at-levels.ts';
import { gridSampler } from '../study/samplers/grid.ts';
import { hillClimbSampler } from '../study/samplers/hill-climb.ts';
import { manualSampler } from '../study/samplers/manual.ts';
import { nsga2Sampler } from '../study/samplers/nsga2.ts';
import type { QueueingOptions } from '../study/samplers/queueing/sight.ts';
import { queueingSampler } from '../study/samplers/queueing.ts';
import { randomSampler } from '../study/samplers/random.ts';
import type { SpaceView } from '../study/samplers/space-view.ts';
import { tpeSampler } from '../study/samplers/tpe.ts';
import type { Sampler } from '../study/types.ts';
import type { SamplerName } from './tune-options.ts';

/** What all samplers are made of; each takes what it needs. */
export interface SamplerOptions extends QueueingOptions {
  /** The list of `--candidates`, for the manual sampler. */
  readonly candidates?: readonly Assignment[];
  /** False: a grid leaves no candidate out for what others did. */
  readonly earlyExits?: boolean;
  /** The load levels of every candidate, where they are listed. */
  readonly values?: readonly number[];
}

/** The sampler of that name over the space. */
export function makeSampler(name: SamplerName, space: SpaceView, options: SamplerOptions): Sampler {
  const sampler = samplers[name](space, options);
  return options.values ? atLevels(sampler, options.values) : sampler;
}

const samplers: Readonly<Record<SamplerName, (space: SpaceView, options: SamplerOptions) => Sampler>> = {
  queueing: queueingSampler,
  random: (space, { seed }) => randomSampler(space, seed),
  grid: gridSampler,
  'hill-climb': hillClimbSampler,
  tpe: (space, { seed, goal }) => tpeSampler(space, seed, goal),
  nsga2: (space, { seed, goal }) => nsga2Sampler(space, seed, goal),
  manual: (space, { candidates = [] }) => manualSampler(space, candidates),
};
