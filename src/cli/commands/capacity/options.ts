import { type CapacityAsked, capacityDefaults } from '../../../app/capacity/capacity-spec.ts';
import type { CapacityOutputs } from '../../../app/capacity/documents.ts';
import type { EndpointSpec } from '../../../app/profile/profile-spec.ts';
import { TrituneError } from '../../../base/errors.ts';
import type { BurstShape } from '../../../capacity/loads.ts';
import type { PromptSpec } from '../../../workload/prompt-spec.ts';
import type { OptionTable } from '../../options/option-table.ts';
import { durationSeconds, percentile, positiveNumber } from '../../options/option-values.ts';
import { endpointOptionTable } from '../profile/endpoint-options.ts';
import { type PlainHttpFlags, plainHttpOptionTable } from '../profile/http-options.ts';
import { type ProfileOptions, profileOptionTable } from '../profile/options.ts';
import { promptOptionTable } from '../profile/prompt-options.ts';

/** Options of `profile` that mean the same here. */
const shared = [
  ...(['model', 'modelVersion', 'serviceKind', 'url', 'protocol'] as const),
  ...(['batch', 'inputData', 'shape', 'integers', 'stringData', 'stringLength', 'requestParameter'] as const),
  ...(['compression', 'tensorFormat', 'sharedMemory', 'outputSharedMemorySize', 'streaming'] as const),
  ...(['clientThreads', 'goodput', 'workload', 'timeScale', 'passes', 'requestTimeout', 'seed'] as const),
  ...(['tls', 'tlsCa', 'tlsCert', 'tlsKey', 'tlsServerName', 'tlsInsecure'] as const),
  ...(['header', 'headerEnv', 'headerFile', 'tokenEnv', 'tokenFile'] as const),
  ...(['launch', 'modelRepository', 'tritonserver', 'serverArg', 'serverCpus', 'dockerImage', 'dockerGpus'] as const),
  ...(['dockerArg', 'metricsUrl'] as const),
];

type Shared = Pick<ProfileOptions, (typeof shared)[number]>;
type PlainHttp = Omit<PlainHttpFlags, 'outputFormat'>;

/** What only `tritune capacity` has. */
export interface CapacityFlags extends CapacityAsked, CapacityOutputs {}

/** The options of `tritune capacity`, parsed. */
export type CapacityOptions = CapacityFlags & Shared & PlainHttp & EndpointSpec & PromptSpec;

const own: OptionTable<CapacityFlags> = {
  latencyBudget: {
    flags: '-l, --latency-budget <ms>',
    help: 'budget on the percentile of latency, from the time that each request is due; or give --goodput',
    parse: positiveNumber,
  },
  percentile: {
    flags: '--percentile <p>',
    help: 'the percentile of requests that must keep the budget or the limits',
    parse: percentile,
    default: capacityDefaults.percentile,
  },
  precision: {
    flags: '--precision <percent>',
    help: "half-width of the capacity's 95 % interval that ends the search",
    parse: positiveNumber,
    default: capacityDefaults.precision,
  },
  requestDistribution: {
    ...profileOptionTable.requestDistribution,
    default: capacityDefaults.requestDistribution,
  },
  maxDuration: {
    flags: '--max-duration <duration>',
    help: 'time for the search; what lies beyond the capacity, and bursts, come after it',
    parse: durationSeconds,
    default: capacityDefaults.maxDuration,
  },
  burst: {
    flags: '--burst <factor:duration>',
    help: 'also find the highest base rate at which a burst of so many times it keeps the limit, such as 2x:30s, by playing it',
    parse: burst,
  },
  recoverWithin: {
    flags: '--recover-within <duration>',
    help: 'the burst of --burst may break the limit, and must keep it again so long after its end',
    parse: durationSeconds,
  },
  forRate: {
    flags: '--for-rate <rate>',
    help: 'also tell how many replicas a rate of so many requests a second needs',
    parse: positiveNumber,
  },
  chance: {
    flags: '--chance <p>',
    help: 'the chance that all replicas of --for-rate keep the limit',
    parse: (text) => shareBelow(text, 0.5, 0.9999),
    default: capacityDefaults.chance,
  },
  headroom: {
    flags: '--headroom <percent>',
    help: 'the part of the capacity that each replica of --for-rate keeps free',
    parse: (text) => shareBelow(text, 0, 0.9),
    default: capacityDefaults.headroom,
  },
  replicaSpread: {
    flags: '--replica-spread <percent>',
    help: 'how far the capacities of replicas differ from each other, as a standard deviation',
    parse: (text) => shareBelow(text, 0, 0.5),
    default: capacityDefaults.replicaSpread,
  },
  json: { flags: '--json <file>', help: 'write everything that was found as JSON' },
  output: {
    flags: '-o, --output <directory>',
    help: 'directory for capacity.json, results.csv and report.html',
  },
};

/** The rows of another table whose keys are named. */
const rowsOf = <O, K extends keyof O>(table: OptionTable<O>, keys: readonly K[]): OptionTable<Pick<O, K>> =>
  Object.fromEntries(keys.map((key) => [key, table[key]])) as unknown as OptionTable<Pick<O, K>>;

const { outputFormat: _, ...plainHttp } = plainHttpOptionTable;

export const capacityOptionTable: OptionTable<CapacityOptions> = {
  ...own,
  ...rowsOf(profileOptionTable, shared),
  ...endpointOptionTable,
  ...promptOptionTable,
  ...plainHttp,
};

function burst(text: string): BurstShape {
  const [, factor, duration] = /^(\d+(?:\.\d+)?)x?:(.+)$/i.exec(text) ?? [];
  if (factor === undefined || duration === undefined || !(Number(factor) > 1)) {
    throw new TrituneError(
      'USAGE',
      `'${text}' is no burst`,
      'write FACTOR:DURATION, such as 2x:30s, with a factor above 1',
    );
  }
  return { factor: Number(factor), seconds: durationSeconds(duration) };
}

/** A share between bounds: '0.2' or '20%' or '20'. */
function shareBelow(text: string, least: number, most: number): number {
  const number = Number(text.replace(/ ?%$/, ''));
  const share = text.trim().endsWith('%') || number > 1 ? number / 100 : number;
  if (text.trim() !== '' && share >= least && share <= most) return share;
  throw new TrituneError('USAGE', `'${text}' is no share here`, `give ${least * 100} % to ${most * 100} %`);
}
