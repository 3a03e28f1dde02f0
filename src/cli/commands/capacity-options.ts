import { TrituneError } from '#base/errors.ts';
import type { BurstShape } from '#capacity/loads.ts';
import { type CapacityOutputs, type CapacityQuestions, capacityOptions } from '#spec/capacity-spec.ts';
import type { EndpointSpec } from '#spec/profile-spec.ts';
import { type AgentsSpec, agentsSpec } from '#spec/traffic-spec.ts';
import type { PromptSpec } from '#workload/prompt-spec.ts';
import { costOptionTable } from '../options/cost.ts';
import { filledBy } from '../options/filled-rows.ts';
import { type OptionTable, under } from '../options/option-table.ts';
import { durationSeconds, percent, percentile } from '../options/option-values.ts';
import { otlpOption } from '../options/otlp.ts';
import { scalingOptionTable } from '../options/scaling.ts';
import { type SetFlags, setOptionTable } from '../options/set.ts';
import { endpointOptionTable } from './profile/endpoint-options.ts';
import { type PlainHttpFlags, plainHttpOptionTable } from './profile/http-options.ts';
import { type ProfileOptions, profileRows } from './profile/options.ts';
import { promptOptionTable } from './profile/prompt-options.ts';

/** Options with the same meaning in `profile`. */
const shared = [
  ...(['model', 'modelVersion', 'serviceKind', 'url', 'protocol'] as const),
  ...([
    'batch',
    'inputData',
    'shape',
    'integers',
    'stringData',
    'stringLength',
    'maxInputSize',
    'outputTolerance',
    'requestParameter',
  ] as const),
  ...(['compression', 'tensorFormat', 'sharedMemory', 'outputSharedMemorySize', 'streaming'] as const),
  ...(Object.keys(agentsSpec.shape) as (keyof AgentsSpec)[]),
  ...(['clientThreads', 'goodput', 'workload', 'timeScale', 'passes', 'requestTimeout', 'maxOutage', 'seed'] as const),
  ...(['tls', 'tlsCa', 'tlsCert', 'tlsKey', 'tlsServerName', 'tlsInsecure'] as const),
  ...(['header', 'headerEnv', 'headerFile', 'tokenEnv', 'tokenFile'] as const),
  ...(['launch', 'modelRepository', 'tritonserver', 'serverArg', 'serverCpus', 'dockerImage', 'dockerGpus'] as const),
  ...(['dockerArg', 'metricsUrl', 'restoreFirst'] as const),
];

type Shared = Pick<ProfileOptions, (typeof shared)[number]>;
type PlainHttp = Omit<PlainHttpFlags, 'outputFormat'>;

/** The options that only `tritune capacity` has. */
export interface CapacityFlags extends CapacityQuestions, CapacityOutputs, SetFlags {}

/** The options of `tritune capacity`, parsed. */
export type ParsedCapacityOptions = CapacityFlags & Shared & PlainHttp & EndpointSpec & PromptSpec;

/** Returns the rows of another table with these keys. */
const toRows = <O, K extends keyof O>(table: OptionTable<O>, keys: readonly K[]): OptionTable<Pick<O, K>> =>
  Object.fromEntries(keys.map((key) => [key, table[key]])) as unknown as OptionTable<Pick<O, K>>;

const optionTable: OptionTable<CapacityFlags> = under<CapacityFlags>('Measurement', {
  latencyBudget: {
    flags: '-l, --latency-budget <ms>',
    help: 'Highest latency allowed at the --percentile, in ms, from the time that a request is due; or give --goodput',
    heading: 'Goal',
  },
  percentile: {
    flags: '--percentile <p>',
    help: 'Percentage of requests that must keep the budget or the limits',
    heading: 'Goal',
    parse: percentile,
  },
  precision: {
    flags: '--precision <percent>',
    help: "Search until the capacity's 95 % interval is this narrow, in ± percent",
  },
  requestDistribution: profileRows.requestDistribution,
  timeBudget: {
    flags: '--time-budget <duration>',
    help: 'Longest time for everything but bursts, such as 10m, in s without a unit; bursts may take as long again',
    otherName: { flags: '--max-duration <duration>', isFormer: true },
  },
  burst: {
    flags: '--burst <factor:duration>',
    help: 'Also find the highest rate that stands a burst of this size and length, such as 2x:30s',
    heading: 'Load',
    parse: burst,
  },
  recoverWithin: {
    flags: '--recover-within <duration>',
    help: 'Time after a burst within which the limit must be kept again (default: it must be kept throughout)',
    heading: 'Load',
  },
  forRate: {
    flags: '--for-rate <rate>',
    help: 'Requests per second; find the number of replicas for it',
    heading: 'Cost and replicas',
  },
  holdChance: {
    flags: '--hold-chance <percent>',
    help: 'Chance that all replicas keep the limit, in percent',
    heading: 'Cost and replicas',
    otherName: {
      flags: '--chance <p>',
      isFormer: true,
      read: (text) => (Number(text) <= 1 ? String(Number((100 * Number(text)).toPrecision(6))) : text),
    },
  },
  headroom: {
    flags: '--headroom <percent>',
    help: 'Capacity of each replica that stays free, in percent',
    heading: 'Cost and replicas',
    parse: percentOnly(0, 90),
  },
  replicaSpread: {
    flags: '--replica-spread <percent>',
    help: 'Standard deviation of the capacity among replicas, in percent',
    heading: 'Cost and replicas',
    parse: percentOnly(0, 50),
  },
  ...scalingOptionTable,
  ...toRows(costOptionTable, ['prices', 'instanceType']),
  gpu: { ...costOptionTable.gpu, help: 'GPU of --prices that the server has, or GPU/SLICE; each one used is paid for' },
  serverGpus: {
    ...costOptionTable.serverGpus,
    help: 'GPUs of the server (default: as many as its metrics show); figures are given for each, too',
  },
  ...setOptionTable(capacityOptions),
  json: { flags: '--json <file>', help: 'Write all results as JSON', heading: 'Output' },
  otlp: otlpOption,
  output: {
    flags: '-o, --output <directory>',
    help: 'Directory for capacity.json, results.csv and report.html',
    heading: 'Output',
  },
});

const { outputFormat: _, ...plainHttp } = plainHttpOptionTable;

export const capacityOptionTable = filledBy<ParsedCapacityOptions>(capacityOptions, {
  ...optionTable,
  ...toRows(profileRows, shared),
  workload: { ...profileRows.workload, help: 'Workload file to scale to each rate (docs/workloads.md)' },
  goodput: {
    ...profileRows.goodput,
    help: "Limits that --percentile of the requests must keep, such as e2e<=50ms or 'ttft<=200ms tpot<=15ms'",
    heading: 'Goal',
  },
  ...endpointOptionTable,
  ...promptOptionTable,
  ...plainHttp,
});

function burst(text: string): BurstShape {
  const [, factor, duration] = /^(\d+(?:\.\d+)?)x?:(.+)$/i.exec(text) ?? [];
  if (factor === undefined || duration === undefined || !(Number(factor) > 1)) {
    throw new TrituneError(
      'USAGE',
      `'${text}' is not a burst`,
      'write FACTOR:DURATION with a factor above 1, such as 2x:30s',
    );
  }
  return { factor: Number(factor), seconds: durationSeconds(duration) };
}

/**
 * Returns the parser of a percentage between bounds, as `percent`. It refuses what may be meant as
 * a share.
 */
function percentOnly(low: number, high: number): (text: string) => number {
  const parse = percent(low, high);
  return (text) => {
    const value = parse(text);
    if (value === 0 || value >= 1 || text.includes('%')) return value;
    const asShare = Number((100 * value).toPrecision(6));
    throw new TrituneError('USAGE', `'${text}' may be a share or a percentage`, `give ${asShare}% or ${value}%`);
  };
}
