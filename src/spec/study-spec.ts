import { z } from 'zod';
import { TrituneError } from '#base/errors.ts';
import type { JsonObject } from '#base/json.ts';
import type { ReadOnly } from '#base/read-only.ts';
import { describeFaults } from '#base/schema-faults.ts';
import { LONGEST_TIMER_S } from '#base/units.ts';
import { promptSpec } from '#workload/prompt-spec.ts';
import { httpSpec } from './http-spec.ts';
import { goodputSpec } from './language-spec.ts';
import { costSpec, priceList } from './price-spec.ts';
import { serverSpec } from './server-spec.ts';
import { togetherSpec } from './together-spec.ts';
import { trafficSpec } from './traffic-spec.ts';
import { workloadsSpec } from './workloads-spec.ts';

const text = z.string().min(1);
const positive = z.number().positive();
const positiveWhole = z.int().positive();
const seconds = positive.max(LONGEST_TIMER_S);

const goalSpec = z.strictObject({
  latencyBudgetMs: positive.optional().describe('Highest latency allowed at the percentile, in milliseconds'),
  percentile: z.number().min(1).max(99.99).default(99).describe('Latency percentile of the budget'),
  constraints: z
    .array(text)
    .default([])
    .describe("Limits on metrics, such as 'gpu-memory<=8GiB'; a value without a unit has the metric's own"),
  modelBudgetsMs: z
    .record(text, positive)
    .optional()
    .describe('Budgets of models that are tuned together, in milliseconds, each for its own requests'),
  goodput: goodputSpec.optional().describe('Limits that a good request keeps; only e2eNs for a model with tensors'),
  objectives: z
    .array(text)
    .min(1)
    .optional()
    .describe(
      'NAME[:WEIGHT] of metrics to improve; throughput if not given, of models that share a server that of each; goodput where it has limits',
    ),
});

export const requestDistributions = ['constant', 'poisson'] as const;

const range = (end: z.ZodNumber) =>
  z
    .strictObject({ low: end.describe('Lowest level'), high: end.describe('Highest level') })
    .refine(({ low, high }) => low <= high, 'a range must not end before it begins');

const levelsSpec = z.strictObject({
  concurrency: range(positiveWhole)
    .optional()
    .describe(
      'Requests in flight to consider; if not given, from 1 to twice the largest batches of all instances, 256 to 4096',
    ),
  batch: range(positiveWhole).optional().describe('Range of samples in one request; traffic.batch by default'),
  requestRate: range(positive).optional().describe('Range of requests per second, instead of concurrency'),
  requestDistribution: z
    .enum(requestDistributions)
    .default('constant')
    .describe('Arrivals of a request rate: evenly spaced, or as a Poisson process'),
  values: z.array(positive).min(1).optional().describe('Load levels of every candidate, as a list'),
});

const samplerSpec = z.strictObject({
  name: text
    .optional()
    .describe(
      'A sampler by its name, or the path of a module that exports one; queueing if not given, tpe by an adapter',
    ),
  leastGainPercent: positive
    .optional()
    .describe(
      'Smallest gain worth having: the original config is kept for less, and the search stops when another trial is expected to gain less; by default any, and by the number of trials',
    ),
  certifyPercent: z
    .number()
    .positive()
    .max(100)
    .optional()
    .describe(
      'Continue the search until no config of the space can be better than its best by more than this, with a probability of 95 %; by default the certificate is only stated',
    ),
  candidates: text.optional().describe('File with the candidates of the manual sampler'),
  priors: z
    .array(text)
    .optional()
    .describe(
      'Run directories of earlier studies of the same model, or of one like it, whose best is tried first; or files of `explain --json`, whose proposal is',
    ),
  earlyExits: z
    .boolean()
    .optional()
    .describe('Whether a grid skips candidates because of the results of others; yes if not given'),
});

export const stabilityRules = ['interval', 'perf-analyzer'] as const;

const measurementSpec = z.strictObject({
  precisionPercent: positive
    .default(3)
    .describe('Measure until the half-widths of the 95 % intervals are at most this'),
  stability: z.enum(stabilityRules).default('interval').describe('When a measurement is complete'),
  allowForeignTraffic: z.boolean().default(false).describe('Continue even if other clients send requests to the model'),
});

const allowance = z.union([z.number().nonnegative(), z.record(z.string().min(1), z.number().nonnegative())]).default(0);

const accuracySpec = z.strictObject({
  absolute: allowance.describe(
    'An output a may differ from the expected b by this much, in the unit of the output; or by output, with * for the others',
  ),
  relative: allowance.describe('It may differ by this times |b| more; or by output'),
  outsideShare: z.number().min(0).max(1).default(0).describe('Share of the output values that may differ by more'),
  command: z
    .array(z.string().min(1))
    .length(2)
    .optional()
    .describe(
      'A command for the shell that reads the outputs and prints a figure, and its limit, such as [python top1.py, top1>=0.75]',
    ),
});

const limitsSpec = z.strictObject({
  maxTrials: positiveWhole.optional().describe('Stop after this many candidates'),
  timeBudgetSeconds: seconds.optional().describe('Stop after this time, in seconds'),
  loadTimeoutSeconds: seconds
    .optional()
    .describe('Longest time that one load of the model may take, in seconds; 600 by default'),
  firstRequestTimeoutSeconds: seconds
    .optional()
    .describe(
      'Longest time until the model answers its first requests after a load, in seconds; by default that of a load',
    ),
  maxOutageSeconds: seconds
    .optional()
    .describe('Longest time that the server may be unreachable before the run ends, in seconds; 20 by default'),
});

/** The file of Model Analyzer that a study was read from. */
export const modelAnalyzerSource = z.strictObject({
  file: text.describe('Path of the file'),
  ignored: z
    .array(z.strictObject({ key: text.describe('Its name'), reason: text.describe('Why it does not count') }))
    .describe('Keys of the file that do not count'),
});

/** The measurements of a recording, which replace a search (`tritune-lab record`). */
const recordingSpec = z.strictObject({
  grid: text.describe('The file that is written'),
  levelValues: z.array(positive).min(1).describe('Load levels of every config'),
  repeats: positiveWhole.describe('Measurements of each config at each level'),
  latencyLimitMs: positive
    .optional()
    .describe(
      'Skip higher levels of a config when its p99 exceeds this, in milliseconds, and its throughput stopped growing',
    ),
  windowSeconds: seconds.optional().describe('Shortest window, in seconds; 0.25 by default'),
  windows: positiveWhole.optional().describe('Windows of one measurement; 3 to 6 by default, by the precision'),
});

/**
 * The form of a study: its target, goal, space, load levels, traffic, sampler, limits and outputs.
 */
export const studySpec = z
  .strictObject({
    specVersion: z.literal(1).default(1).describe('Version of the format'),
    model: text.describe('The model to tune'),
    together: togetherSpec
      .optional()
      .describe('Models that are tuned together with `model`, if its config does not name them'),
    adapter: text.optional().describe('Module that drives a server other than Triton'),
    server: serverSpec.prefault({}).describe('The server of the model'),
    goal: goalSpec.prefault({}).describe('Constraints on a config, and what to improve'),
    prices: z.union([text, priceList]).optional().describe('Prices of GPUs and instance types: a file or its content'),
    cost: costSpec.optional().describe('The prices to use, and the rate to serve'),
    space: z
      .union([text, z.record(z.string(), z.json())])
      .optional()
      .describe("Search space: a preset, a file, or its definition; the preset of the model's backend by default"),
    levels: levelsSpec.prefault({}).describe('Load levels to search'),
    workloads: workloadsSpec.optional().describe('Workloads to tune for, instead of a constant load'),
    prompts: promptSpec.optional().describe('Prompts of a language model'),
    http: httpSpec.optional().describe('Requests to a plain HTTP service, which is tuned instead of a model'),
    traffic: trafficSpec.prefault({}).describe('The requests, and how they are sent'),
    sampler: samplerSpec.prefault({}).describe('How candidates are chosen'),
    measurement: measurementSpec.prefault({}).describe('How one load level is measured'),
    accuracy: accuracySpec.optional().describe('Allowed errors of outputs, checked before a candidate is measured'),
    limits: limitsSpec.prefault({}).describe('Limits of the study and of waiting times'),
    seed: z.int().nonnegative().default(1).describe('Seed of the random numbers'),
    trace: z.boolean().optional().describe('Trace the best configuration on the server at the end'),
    output: text.optional().describe('Directory for the results; tritune-runs/MODEL-TIMESTAMP by default'),
    modelAnalyzer: modelAnalyzerSource
      .optional()
      .describe("Model Analyzer's file that the study was read from, and its ignored keys"),
    recording: recordingSpec.optional().describe('Record a grid instead of a search (`tritune-lab record`)'),
  })
  .meta({ id: 'study', description: 'One study' });

export type StudySpec = ReadOnly<z.infer<typeof studySpec>>;
/** A study spec as people write it: fields with a default may be left out. */
export type StudySpecInput = ReadOnly<z.input<typeof studySpec>>;
export type RecordingSpec = ReadOnly<z.infer<typeof recordingSpec>>;
export type RequestDistribution = (typeof requestDistributions)[number];

/**
 * Returns the value as a study spec, with defaults filled in. `origin` names it in errors. Errors:
 * USAGE with the path of the fault.
 */
export function checkStudySpec(value: unknown, origin: string): StudySpec {
  const outcome = studySpec.safeParse(value);
  if (outcome.success) return outcome.data;
  throw new TrituneError(
    'USAGE',
    `${origin} is not a valid study: ${describeFaults(outcome.error.issues)}`,
    'see docs/study.schema.json',
  );
}

/** Returns the spec as JSON, without undefined fields. */
export const specToJson = (spec: StudySpec): JsonObject => JSON.parse(JSON.stringify(spec)) as JsonObject;
