import { TrituneError } from '../base/errors.ts';
import type { SweepRange } from '../profiler/sweep.ts';
import { type ClientFlags, clientOptionTable } from './client-options.ts';
import type { OptionTable } from './option-table.ts';
import {
  durationSeconds,
  type NumberRange,
  positiveNumber,
  positiveWhole,
  wholeNumber,
  wholeRange,
} from './option-values.ts';
import { type PerfAnalyzerFlags, perfAnalyzerOptionTable } from './perf-analyzer-options.ts';
import { type RequestOptions, requestOptionTable } from './request-options.ts';
import {
  type BurstShape,
  burstShape,
  concurrencySweep,
  percentileOrNone,
  type RateRamp,
  rateRamp,
  rateSweep,
  wholeList,
} from './sweep-values.ts';
import { type TlsFlags, tlsOptionTable } from './tls-options.ts';
import { type TransportFlags, transportOptionTable } from './transport-options.ts';
import type { RequestDistribution } from './tune-options.ts';
import { type Protocol, requestDistributions, tuneOptionTable } from './tune-options.ts';

/** Which load levels are measured, and how requests are spread in time. */
interface LevelFlags {
  readonly concurrencyRange?: SweepRange;
  readonly requestRateRange?: SweepRange;
  readonly requestDistribution: RequestDistribution;
  readonly requestIntervals?: string;
  readonly arrivalTrace?: string;
  readonly traceSpeed: number;
  readonly fixedSchedule?: boolean;
  readonly ramp?: RateRamp;
  readonly burst?: BurstShape;
  readonly binarySearch?: boolean;
  readonly latencyThreshold: number;
  readonly scenario?: 'offline' | 'online';
  readonly batchSizes?: readonly number[];
  readonly concurrencies?: NumberRange;
}

/** How a level is measured. */
interface MeasuringFlags {
  readonly stability?: 'interval' | 'perf-analyzer';
  readonly precision: number;
  readonly measurementMode?: 'time_windows' | 'count_windows';
  readonly measurementInterval?: number;
  readonly measurementRequestCount?: number;
  readonly stabilityPercentage?: number;
  readonly maxTrials?: number;
  readonly percentile?: number;
  readonly requestCount?: number;
  readonly warmupRequestCount?: number;
  readonly requestTimeout: number;
  readonly seed: number;
}

/** Where the figures go. */
interface OutputFlags {
  readonly csv?: string;
  readonly verboseCsv?: boolean;
  readonly profileExportFile?: string;
  readonly json?: string;
  readonly ndjson?: string;
  readonly output?: string;
  readonly collectMetrics?: boolean;
  readonly metricsUrl?: string;
  readonly verbose?: boolean;
}

/** The options of `tritune profile`, parsed. */
export interface ProfileOptions
  extends LevelFlags,
    MeasuringFlags,
    OutputFlags,
    RequestOptions,
    TlsFlags,
    TransportFlags,
    ClientFlags,
    PerfAnalyzerFlags {
  readonly model?: string;
  readonly modelVersion?: string;
  readonly serviceKind: string;
  readonly url?: string;
  readonly protocol: Protocol;
  readonly launch?: string;
  readonly modelRepository?: string;
  readonly tritonserver?: string;
  readonly dockerImage: string;
}

const levelTable: OptionTable<LevelFlags> = {
  concurrencyRange: {
    flags: '--concurrency-range <start:end:step>',
    help: 'requests kept in flight; an end of 0 goes on until --latency-threshold (default: 1)',
    parse: concurrencySweep,
  },
  requestRateRange: {
    flags: '--request-rate-range <start:end:step>',
    help: 'requests sent per second, whatever the replies do; an end of 0 goes on until --latency-threshold',
    parse: rateSweep,
  },
  requestDistribution: {
    flags: '--request-distribution <distribution>',
    help: 'how the requests of a rate are spread: evenly, or as independent arrivals',
    choices: requestDistributions,
    default: 'constant',
  },
  requestIntervals: {
    flags: '--request-intervals <file>',
    help: 'file with the microseconds between requests, one a line, used over and over',
  },
  arrivalTrace: {
    flags: '--arrival-trace <file>',
    help: 'file with the milliseconds at which requests arrived, one a line; they are sent again, once',
  },
  traceSpeed: {
    flags: '--trace-speed <factor>',
    help: 'how many times as fast --arrival-trace and --fixed-schedule run',
    parse: positiveNumber,
    default: 1,
  },
  fixedSchedule: {
    flags: '--fixed-schedule',
    help: 'send every step of the --input-data file once, at its "timestamp" in milliseconds',
  },
  ramp: {
    flags: '--ramp <from:to:seconds>',
    help: 'a request rate that changes evenly from one to the other, then ends',
    parse: rateRamp,
  },
  burst: {
    flags: '--burst <size:ms>',
    help: 'so many requests at once, again after so many milliseconds',
    parse: burstShape,
  },
  binarySearch: {
    flags: '--binary-search',
    help: 'look for the highest level of the range within --latency-threshold by halving it',
  },
  latencyThreshold: {
    flags: '-l, --latency-threshold <ms>',
    help: 'levels above it end the search; 0 is none',
    parse: threshold,
    default: 0,
  },
  scenario: {
    flags: '--scenario <scenario>',
    help: 'offline: one client, a table of batch sizes; online: one batch size, a table of concurrencies',
    choices: ['offline', 'online'],
  },
  batchSizes: {
    flags: '--batch-sizes <list>',
    help: "batch sizes of --scenario offline (default: powers of two up to the model's max_batch_size)",
    parse: wholeList,
  },
  concurrencies: {
    flags: '--concurrencies <low:high>',
    help: 'concurrencies of --scenario online, doubling (default: 8:256)',
    parse: wholeRange,
  },
};

const measuringTable: OptionTable<MeasuringFlags> = {
  stability: {
    flags: '--stability <rule>',
    help: "when a level is done: interval, by its 95 % intervals; perf-analyzer, by the spread of its last three windows (default: interval, unless one of that rule's options is given)",
    choices: ['interval', 'perf-analyzer'],
  },
  precision: {
    flags: '--precision <percent>',
    help: 'half-width of the 95 % intervals that ends a level',
    parse: positiveNumber,
    default: 3,
  },
  measurementMode: {
    flags: '--measurement-mode <mode>',
    help: 'what a window is measured by (default: time_windows)',
    choices: ['time_windows', 'count_windows'],
  },
  measurementInterval: {
    flags: '-p, --measurement-interval <ms>',
    help: 'length of a window (default: 5000)',
    parse: positiveWhole,
  },
  measurementRequestCount: {
    flags: '--measurement-request-count <n>',
    help: 'least requests in a window of count_windows (default: 50)',
    parse: positiveWhole,
  },
  stabilityPercentage: {
    flags: '-s, --stability-percentage <percent>',
    help: 'how far apart the last three windows may be (default: 10)',
    parse: positiveNumber,
  },
  maxTrials: {
    flags: '-r, --max-trials <n>',
    help: 'windows after which a level is given up as unstable (default: 10)',
    parse: positiveWhole,
  },
  percentile: {
    flags: '--percentile <p>',
    help: 'the latency that is looked at, such as 99 or 99.9 (default: the average)',
    parse: percentileOrNone,
  },
  requestCount: {
    flags: '--request-count <n>',
    help: 'measure exactly so many requests, from the first sending to the last reply',
    parse: wholeNumber,
  },
  warmupRequestCount: {
    flags: '--warmup-request-count <n>',
    help: 'requests before anything is counted (default: until the latency has settled)',
    parse: wholeNumber,
  },
  requestTimeout: {
    flags: '--request-timeout <duration>',
    help: 'a request without its reply counts as failed after so long',
    parse: durationSeconds,
    default: 30,
  },
  seed: { flags: '--seed <n>', help: 'seed of everything random', parse: wholeNumber, default: 1 },
};

const outputTable: OptionTable<OutputFlags> = {
  csv: { flags: '-f, --csv <file>', help: "write the levels in perf_analyzer's columns" },
  verboseCsv: {
    flags: '--verbose-csv',
    help: 'with the average latency and the wait for the response, and GPU metrics',
  },
  profileExportFile: {
    flags: '--profile-export-file <file>',
    help: 'write the times of every request as JSON, as it goes; the file must not exist',
  },
  json: { flags: '--json <file>', help: 'write everything that was measured as JSON' },
  ndjson: { flags: '--ndjson <file>', help: 'write a line of JSON for every window and level, as it goes' },
  output: { flags: '-o, --output <directory>', help: 'directory for the tables and plots of --scenario' },
  collectMetrics: { flags: '--collect-metrics', help: "report the server's GPU metrics" },
  metricsUrl: { flags: '--metrics-url <url>', help: 'Prometheus metrics (default: http://HOST:8002/metrics)' },
  verbose: { flags: '-v, --verbose', help: 'a line for every window; a stack trace with errors' },
};

export const profileOptionTable: OptionTable<ProfileOptions> = {
  model: { flags: '-m, --model <name>', help: 'the model to send to' },
  modelVersion: { flags: '-x, --model-version <version>', help: "its version (default: the server's choice)" },
  serviceKind: {
    flags: '--service-kind <kind>',
    help: 'triton, or http for any URL (see the options about plain HTTP)',
    default: 'triton',
  },
  url: {
    flags: '-u, --url <host:port>',
    help: 'the server (default: localhost:8000 for http, localhost:8001 for grpc)',
  },
  protocol: { flags: '-i, --protocol <protocol>', help: 'http or grpc', parse: protocol, default: 'http' },
  ...levelTable,
  ...measuringTable,
  ...requestOptionTable,
  ...transportOptionTable,
  ...clientOptionTable,
  ...tlsOptionTable,
  ...outputTable,
  launch: tuneOptionTable.launch,
  modelRepository: tuneOptionTable.modelRepository,
  tritonserver: tuneOptionTable.tritonserver,
  dockerImage: tuneOptionTable.dockerImage,
  ...perfAnalyzerOptionTable,
};

/** In any case of letters, as perf_analyzer takes it. */
function protocol(text: string): Protocol {
  const name = text.toLowerCase();
  if (name === 'grpc' || name === 'http') return name;
  throw new TrituneError('USAGE', `there is no protocol '${text}'`, 'use http or grpc');
}

function threshold(text: string): number {
  return Number(text) === 0 ? 0 : positiveNumber(text);
}
