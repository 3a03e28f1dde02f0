import { ALL_ENGINES } from '../../../benchmark/engines/engines.ts';
import { type SpeedKind, speedKinds } from '../../../benchmark/machine-speed.ts';
import { ALL_PIPELINES } from '../../../benchmark/pipelines/pipelines.ts';
import { mechanisms } from '../../../study/search/queueing/mechanisms.ts';
import { type SamplerName, samplerNames } from '../../../study/search/samplers/registry.ts';
import type { OptionTable } from '../../options/option-table.ts';
import { collect, positiveWhole, share, wholeNumber } from '../../options/option-values.ts';

/** The options of `tritune bench-search`, parsed. */
export interface BenchSearchOptions {
  readonly quick: boolean;
  readonly scenarios?: number;
  readonly otherServers?: number;
  /** Made-up pipelines in place of all else. */
  readonly pipelines?: number;
  /** Made-up engines of language models in place of all else. */
  readonly engines?: number;
  readonly measurements?: number;
  readonly samplers: string;
  readonly statistics: boolean;
  readonly gpuMemory: boolean;
  readonly seed: number;
  /** Files of recorded grids, in place of those that come with tritune. */
  readonly grid?: readonly string[];
  /** Mechanisms of the default sampler that are left out. */
  readonly without?: readonly string[];
  readonly studies: boolean;
  readonly seeds?: number;
  readonly speed?: SpeedKind;
  readonly stalls?: number;
  /** The server is on the host of the load generator. */
  readonly local: boolean;
  /** False: studies take the machine for steady. */
  readonly correction: boolean;
}

/** How many made-up models the whole benchmark has, and a quick one. */
export const ALL_SCENARIOS = 40;
export const QUICK_SCENARIOS = 4;
export const ALL_OTHER_SERVERS = 8;
export const QUICK_OTHER_SERVERS = 1;
/** A list of one's own is no search. */
export const contestants: readonly SamplerName[] = samplerNames.filter((name) => name !== 'manual');

/** Searches of pipelines are longer than those of one model; what counts for engines are starts, with several measurements each. */
export const USUAL_MEASUREMENTS = { one: 16, pipeline: 20, engine: 60 };
/** What a pipeline can be searched by for comparison. */
export const ONE_BY_ONE = 'one-by-one';

export const benchSearchOptionTable: OptionTable<BenchSearchOptions> = {
  quick: { flags: '--quick', help: `${QUICK_SCENARIOS} made-up models instead of ${ALL_SCENARIOS}`, default: false },
  scenarios: {
    flags: '--scenarios <n>',
    help: 'number of made-up models; 0 also leaves out the made-up servers',
    parse: wholeNumber,
  },
  otherServers: {
    flags: '--other-servers <n>',
    help: 'number of made-up servers that queue otherwise than Triton; none without made-up models',
    parse: wholeNumber,
  },
  pipelines: {
    flags: '--pipelines <n>',
    help: `play this many made-up pipelines (${ALL_PIPELINES} at most) instead of the other problems; the sampler \`${ONE_BY_ONE}\` tunes one model after the other`,
    parse: positiveWhole,
  },
  engines: {
    flags: '--engines <n>',
    help: `play this many made-up engines of language models (${ALL_ENGINES} at most) instead of the other problems, and count starts`,
    parse: positiveWhole,
  },
  measurements: {
    flags: '--measurements <n>',
    help: 'the length of each search, the original config among them (default: 16; 20 for pipelines, 60 for engines)',
    parse: positiveWhole,
  },
  samplers: { flags: '--samplers <names>', help: 'separated by commas', default: contestants.join(',') },
  statistics: {
    flags: '--no-statistics',
    help: 'servers that report no statistics: samplers see only what clients see',
    default: true,
  },
  gpuMemory: {
    flags: '--gpu-memory',
    help: 'made-up models whose memory may run out are on GPUs that report it',
    default: false,
  },
  seed: { flags: '--seed <n>', help: 'of the samplers and of the noise', parse: wholeNumber, default: 1 },
  grid: {
    flags: '--grid <file>',
    help: 'a grid of your own, from tritune record; repeatable; takes the place of those that come with tritune',
    parse: collect,
  },
  without: {
    flags: '--without <name>',
    help: `leave a mechanism of the default sampler out, to see what it is worth; repeatable: ${Object.keys(mechanisms).join(', ')}`,
    parse: collect,
  },
  studies: {
    flags: '--studies',
    help: 'whole studies with their final, each as long as it turns out to be, instead of searches of one length',
    default: false,
  },
  seeds: { flags: '--seeds <n>', help: 'whole studies with so many seeds, from --seed on', parse: positiveWhole },
  speed: {
    flags: '--speed <kind>',
    help: 'whole studies on machines whose speed changes so',
    choices: speedKinds,
  },
  stalls: {
    flags: '--stalls <share>',
    help: 'whole studies in which a stall makes this share of the measurements late, for example 0.35',
    parse: share,
  },
  local: {
    flags: '--local',
    help: 'whole studies of a server on this host, whose own work then tells of the speed',
    default: false,
  },
  correction: {
    flags: '--no-correction',
    help: 'whole studies that take the machine for steady, to see what the correction is worth',
    default: true,
  },
};
