import type { OptionTable } from '../../src/cli/options/option-table.ts';
import { collect, positiveWhole, share, wholeNumber } from '../../src/cli/options/option-values.ts';
import { mechanisms } from '../../src/study/search/queueing/mechanisms.ts';
import { type SamplerName, samplerNames } from '../../src/study/search/samplers/registry.ts';
import { ALL_ENGINES } from '../engines/engines.ts';
import { ALL_PIPELINES } from '../pipelines/pipelines.ts';
import { type SpeedKind, speedKinds } from '../problems/machine-speed.ts';

/** The options of `tritune-lab bench-search`, parsed. */
export interface BenchSearchOptions {
  readonly quick: boolean;
  readonly scenarios?: number;
  readonly otherServers?: number;
  /** Made-up pipelines instead of everything else. */
  readonly pipelines?: number;
  /** Made-up engines of language models instead of everything else. */
  readonly engines?: number;
  readonly measurements?: number;
  readonly samplers: string;
  readonly statistics: boolean;
  readonly gpuMemory: boolean;
  readonly seed: number;
  /** Files of recorded grids, instead of those included in tritune. */
  readonly grid?: readonly string[];
  /** Mechanisms of the default sampler to leave out. */
  readonly without?: readonly string[];
  readonly studies: boolean;
  readonly seeds?: number;
  readonly speed?: SpeedKind;
  readonly stalls?: number;
  /** True if the server is on the load generator's host. */
  readonly local: boolean;
  /** False if studies assume a machine of constant speed. */
  readonly correction: boolean;
}

/** The number of made-up models in the whole benchmark, and in a quick one. */
export const ALL_SCENARIOS = 40;
export const QUICK_SCENARIOS = 4;
export const ALL_OTHER_SERVERS = 8;
export const QUICK_OTHER_SERVERS = 1;
/** Leaves out `manual`, because a list of candidates is no search. */
export const contestants: readonly SamplerName[] = samplerNames.filter((name) => name !== 'manual');

/**
 * Searches of pipelines are longer than those of one model. For engines, starts matter, with
 * several measurements each.
 */
export const USUAL_MEASUREMENTS = { one: 16, pipeline: 20, engine: 60 };
/** The method that pipelines are also searched by, for comparison. */
export const ONE_BY_ONE = 'one-by-one';

export const benchSearchOptionTable: OptionTable<BenchSearchOptions> = {
  quick: {
    flags: '--quick',
    help: `Use ${QUICK_SCENARIOS} simulated models instead of ${ALL_SCENARIOS}`,
    default: false,
  },
  scenarios: {
    flags: '--scenarios <n>',
    help: 'Number of simulated models; 0 also leaves out the simulated servers',
    parse: wholeNumber,
  },
  otherServers: {
    flags: '--other-servers <n>',
    help: 'Number of simulated servers that queue in another way than Triton',
    parse: wholeNumber,
  },
  pipelines: {
    flags: '--pipelines <n>',
    help: `Use this many simulated pipelines instead, at most ${ALL_PIPELINES}; the sampler ${ONE_BY_ONE} tunes one model after another`,
    parse: positiveWhole,
  },
  engines: {
    flags: '--engines <n>',
    help: `Use this many simulated engines of language models instead, at most ${ALL_ENGINES}, and count server starts`,
    parse: positiveWhole,
  },
  measurements: {
    flags: '--measurements <n>',
    help: 'Measurements in each search, with the original config (default: 16, 20 for pipelines, 60 for engines)',
    parse: positiveWhole,
  },
  samplers: { flags: '--samplers <names>', help: 'Samplers, separated by commas', default: contestants.join(',') },
  statistics: {
    flags: '--no-statistics',
    help: 'Hide the statistics of the server from the samplers',
    default: true,
  },
  gpuMemory: {
    flags: '--gpu-memory',
    help: 'Let GPUs report their memory',
    default: false,
  },
  seed: { flags: '--seed <n>', help: 'Seed of the samplers and of the noise', parse: wholeNumber, default: 1 },
  grid: {
    flags: '--grid <file>',
    help: 'Grid from tritune-lab record, instead of the built-in ones; repeatable',
    parse: collect,
  },
  without: {
    flags: '--without <name>',
    help: `Leave out a mechanism of the default sampler: ${Object.keys(mechanisms).join(', ')}; repeatable`,
    parse: collect,
  },
  studies: {
    flags: '--studies',
    help: 'Run whole studies with their final, instead of searches of one length',
    default: false,
  },
  seeds: {
    flags: '--seeds <n>',
    help: 'Run whole studies with this many seeds, starting at --seed',
    parse: positiveWhole,
  },
  speed: {
    flags: '--speed <kind>',
    help: 'Run whole studies on a machine whose speed changes in this way',
    choices: speedKinds,
  },
  stalls: {
    flags: '--stalls <share>',
    help: 'Run whole studies in which stalls delay this share of the measurements, 0 to 1',
    parse: share,
  },
  local: {
    flags: '--local',
    help: 'Run whole studies of a server on the same host as the load generator',
    default: false,
  },
  correction: {
    flags: '--no-correction',
    help: 'Run whole studies without the correction for the speed of the machine',
    default: true,
  },
};
