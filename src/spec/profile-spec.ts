import { z } from 'zod';
import type { ReadOnly } from '#base/read-only.ts';
import { LONGEST_TIMER_S } from '#base/units.ts';
import { promptSpec } from '#workload/prompt-spec.ts';
import { requestSpec } from '#workload/request-spec.ts';
import type { FlatDocument, FlatFields, FlatSection, OptionNames } from './flat-options.ts';
import { httpSpec } from './http-spec.ts';
import { goodputSpec } from './language-spec.ts';
import { addressSpec, launchSpec, type Protocol, protocols, restoreFirstSpec } from './server-spec.ts';
import { requestDistributions, stabilityRules } from './study-spec.ts';
import { clientSpec, transportSpec } from './traffic-spec.ts';

/** What `tritune profile` measures, with the sections and fields that a study has where it can. */

const text = z.string().min(1);
const positive = z.number().positive();
const positiveWhole = z.int().positive();
const whole = z.int().nonnegative();
const milliseconds = positiveWhole.max(LONGEST_TIMER_S * 1e3);
/** Arrivals are planned before the first request is sent. */
const MAX_REQUESTS = 1e8;

const sweep = z
  .strictObject({
    start: positive.describe('Lowest level'),
    end: z.number().nonnegative().describe('Highest level; 0 goes on to the latency limit'),
    step: positive.describe('Distance of two levels'),
  })
  .refine(({ start, end }) => end === 0 || start <= end, 'a range must not end before it begins');

/** A server that is measured as it is. */
export const servedSpec = z.strictObject({
  ...addressSpec.omit({ controlUrl: true }).shape,
  protocol: z.enum(protocols).optional().describe('Protocol of the requests; the one that the port speaks by default'),
  ...launchSpec.partial().shape,
  ...restoreFirstSpec.shape,
  endpoint: text
    .optional()
    .describe('API of a model that takes texts, or the path of an OpenAI call; leave it out for other models'),
  maxOutageSeconds: z
    .number()
    .nonnegative()
    .max(LONGEST_TIMER_S)
    .default(20)
    .describe('Longest time that the server may be unreachable before the run ends, in seconds'),
});

/** The requests to a server that is measured as it is, and how they are sent. */
export const sentSpec = z.strictObject({
  ...requestSpec.shape,
  ...transportSpec.shape,
  ...clientSpec.shape,
  extraInputs: z.record(text, z.unknown()).optional().describe('Further fields of every request to a language model'),
  requestTimeoutSeconds: positive
    .max(LONGEST_TIMER_S)
    .default(30)
    .describe('Longest time that one request may take, in seconds'),
});

const goalSpec = z.strictObject({
  latencyBudgetMs: z.number().nonnegative().default(0).describe('Stop at the first level above it; 0 is no limit'),
  percentile: z
    .union([z.literal(-1), z.number().min(1).max(99.99)])
    .optional()
    .describe('Latency percentile to judge by; -1 or none is the average'),
  goodput: goodputSpec.optional().describe('Limits that a good request keeps'),
});

const levelsSpec = z.strictObject({
  concurrencyRange: sweep.optional().describe('Requests in flight; 1 by default'),
  requestRateRange: sweep.optional().describe('Requests per second, whether or not replies have arrived'),
  requestDistribution: z
    .enum(requestDistributions)
    .default('constant')
    .describe('Arrivals of a request rate: evenly spaced, or as a Poisson process'),
  requestIntervals: text.optional().describe('File with the microseconds between requests; repeated as needed'),
  arrivalTrace: text.optional().describe('File with the arrival times of requests in milliseconds; sent once'),
  traceSpeed: positive.default(1).describe('Speed of an arrival trace or a fixed schedule'),
  fixedSchedule: z.boolean().optional().describe('Send each step of the input data once, at its timestamp'),
  ramp: z
    .strictObject({
      fromPerSecond: z.number().nonnegative().describe('First rate'),
      toPerSecond: z.number().nonnegative().describe('Last rate'),
      overS: positive.describe('Time between them, in seconds'),
    })
    .optional()
    .describe('A request rate that changes linearly'),
  periodicBurst: z
    .strictObject({
      size: positiveWhole.max(MAX_REQUESTS).describe('Requests at once'),
      periodMs: positive.describe('Time between two bursts, in milliseconds'),
    })
    .optional()
    .describe('Requests in bursts'),
  binarySearch: z.boolean().optional().describe('Find the highest level within the latency limit by binary search'),
  scenario: z
    .enum(['offline', 'online'])
    .optional()
    .describe('A table of batch sizes for one client (offline), or of concurrencies for one batch size (online)'),
  batchSizes: z.array(positiveWhole).min(1).optional().describe('Batch sizes of the scenario offline'),
  concurrencies: z
    .strictObject({
      low: positiveWhole.describe('Lowest'),
      high: positiveWhole.describe('Highest'),
      step: positiveWhole.optional().describe('Distance of two; they double without one'),
    })
    .optional()
    .describe('Concurrencies of the scenario online'),
});

/** A workload that is played as it is. */
export const playedSpec = z.strictObject({
  file: text.optional().describe('Workload file to play'),
  timeScale: positive.optional().describe('Factor on its durations, at the same rates'),
  passes: positiveWhole.optional().describe('Passes to measure; as many as take five seconds by default'),
});

const measurementSpec = z.strictObject({
  stability: z
    .enum(stabilityRules)
    .optional()
    .describe("When a level is complete: by its intervals, or by perf_analyzer's last three windows"),
  precisionPercent: positive
    .default(3)
    .describe('Measure until the half-widths of the 95 % intervals are at most this'),
  measurementMode: z
    .enum(['time_windows', 'count_windows'])
    .optional()
    .describe('Windows of a fixed time or of a request count; time_windows by default'),
  measurementIntervalMs: milliseconds.optional().describe('Length of a window, in milliseconds; 5000 by default'),
  measurementRequestCount: positiveWhole.optional().describe('Fewest requests in a window; 50 by default'),
  stabilityPercentage: positive
    .optional()
    .describe('Largest difference of the last three windows, in per cent; 10 by default'),
  maxTrials: positiveWhole.optional().describe('Windows after which a level is reported as unstable; 10 by default'),
  requestCount: whole.optional().describe('Measure exactly this many requests'),
  warmupRequestCount: whole.optional().describe('Warm-up requests; until the latency has settled by default'),
  blsComposingModels: text.optional().describe('NAME:VERSION of models that the model calls, separated by commas'),
});

const outputsSpec = z.strictObject({
  csv: text.optional().describe("CSV file with perf_analyzer's columns"),
  verboseCsv: z.boolean().optional().describe('More columns in it'),
  profileExportFile: text.optional().describe('File with the times of every request, as JSON'),
  json: text.optional().describe('File with all figures, as JSON'),
  ndjson: text.optional().describe('File with a line of JSON for each window and level'),
  otlp: text.optional().describe('Address of an OpenTelemetry collector for the figures'),
  plots: text.optional().describe('Directory for pictures of the levels'),
  output: text.optional().describe('Directory for the tables and plots of a scenario'),
  label: z.array(text).optional().describe('NAME=VALUE for the parameter table of a scenario'),
  collectMetrics: z.boolean().optional().describe("Report the server's GPU metrics"),
  verbose: z.boolean().optional().describe('Print a line for each window, and stack traces with errors'),
});

/** How the server traces requests meanwhile, named as perf_analyzer's options. */
const traceSpec = z.strictObject({
  traceLevel: z.enum(['OFF', 'TIMESTAMPS', 'TENSORS']).optional().describe('Level of the trace'),
  traceRate: positiveWhole.optional().describe('Trace one of this many requests; 1000 by default'),
  traceCount: z.int().min(-1).optional().describe('Traces at most; -1, the default, is no limit'),
  logFrequency: whole.optional().describe('Traces in each file; 0, the default, is one file'),
});

/** The form of a profile: its target, load levels, requests, rules of measuring, and outputs. */
export const profileSpec = z.strictObject({
  model: text.optional().describe('The model to measure'),
  modelVersion: text.optional().describe("Version of the model; the server's choice by default"),
  server: servedSpec.describe('The server of the model'),
  goal: goalSpec.describe('What a level is judged by'),
  levels: levelsSpec.describe('Load levels to measure'),
  workloads: playedSpec.describe('A workload to play'),
  prompts: promptSpec.describe('Prompts of a language model'),
  http: httpSpec.describe('Requests to a plain HTTP service'),
  traffic: sentSpec.describe('The requests, and how they are sent'),
  measurement: measurementSpec.describe('How one load level is measured'),
  trace: traceSpec.describe('The trace of the server'),
  outputs: outputsSpec.describe('Files to write'),
  seed: whole.default(1).describe('Seed of the random numbers'),
});

/** The options of a profile whose names are not those of their fields. */
export const profileOptionNames = {
  'goal.latencyBudgetMs': 'latencyThreshold',
  'workloads.file': 'workload',
  'prompts.thinkTimeMs': 'thinkTimeMs',
  'traffic.agentClockLimitMs': 'agentClockLimitMs',
} as const satisfies OptionNames;

type Names = typeof profileOptionNames;
type Document = ReadOnly<z.output<typeof profileSpec>>;
type Section<S extends keyof Document & string> = FlatSection<S, Document[S], Names>;

/** Which load levels are measured, and how requests are spread in time. */
export type LevelSpec = Section<'levels'> &
  Pick<Section<'goal'>, 'latencyThreshold'> &
  Pick<Section<'workloads'>, 'workload' | 'timeScale'>;

/** How a level is measured. */
export type MeasuringSpec = Omit<Section<'measurement'>, 'blsComposingModels'> &
  Pick<Section<'goal'>, 'percentile'> &
  Pick<Section<'workloads'>, 'passes'> &
  Pick<Section<'traffic'>, 'requestTimeout'> &
  Pick<Section<'server'>, 'maxOutage'> &
  FlatFields<Pick<Document, 'seed'>, Names>;

/** The paths of the documents. */
export type ProfileOutputs = Section<'outputs'> & Pick<Section<'server'>, 'metricsUrl'>;

/** The limits that a good request keeps. */
export type GoodputLimits = Pick<Section<'goal'>, 'goodput'>;

/** How to call a language model. */
export type EndpointSpec = Pick<Section<'server'>, 'endpoint'> & Pick<Section<'traffic'>, 'extraInputs'>;

/** How the server traces requests during a profile. */
export type TraceSpec = Section<'trace'>;

/** A profile of a model that takes tensors, as one flat set of options. */
export interface ProfileSpec
  extends LevelSpec,
    MeasuringSpec,
    GoodputLimits,
    ProfileOutputs,
    TraceSpec,
    Omit<Section<'traffic'>, 'extraInputs' | 'requestTimeout'>,
    Omit<Section<'server'>, 'endpoint' | 'metricsUrl' | 'protocol'>,
    Pick<Section<'measurement'>, 'blsComposingModels'>,
    FlatFields<Pick<Document, 'model' | 'modelVersion'>, Names> {
  readonly protocol: Protocol;
  /** Only shown in the output; no request ever waits for another one. */
  readonly async?: boolean;
}

/** A ramp of the request rate. */
export type RateRamp = NonNullable<LevelSpec['ramp']>;

/** Bursts of a profile. */
export type BurstSpec = NonNullable<LevelSpec['periodicBurst']>;

/** A profile as `--set` reaches it. */
export const profileOptions: FlatDocument = {
  name: 'profile',
  schema: profileSpec,
  names: profileOptionNames,
  page: 'docs/reference/profile-spec.md',
};
