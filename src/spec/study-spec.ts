import { z } from 'zod';
import { TrituneError } from '../base/errors.ts';
import type { JsonObject } from '../base/json.ts';
import type { ReadOnly } from '../base/read-only.ts';
import { promptSpec } from '../workload/prompt-spec.ts';
import { goodputSpec } from './language-spec.ts';
import { costSpec, priceList } from './price-spec.ts';
import { serverSpec } from './server-spec.ts';
import { togetherSpec } from './together-spec.ts';
import { trafficSpec } from './traffic-spec.ts';
import { workloadsSpec } from './workloads-spec.ts';

const text = z.string().min(1);
const positive = z.number().positive();
const positiveWhole = z.int().positive();
/** The system's timers count milliseconds in 31 bits: one that is set for longer ends at once. */
const LONGEST_SECONDS = 20 * 24 * 3600;
const seconds = positive.max(LONGEST_SECONDS);

const goalSpec = z.strictObject({
  latencyBudgetMs: positive.optional().describe('Budget on the percentile of the latency, in milliseconds'),
  percentile: z.number().min(1).max(99.99).default(99).describe('The percentile that the budget is about'),
  constraints: z.array(text).default([]).describe("Such as 'gpu-memory<=8000'"),
  modelBudgetsMs: z
    .record(text, positive)
    .optional()
    .describe('Budgets of models that are tuned together, each on the percentile of its own requests'),
  goodput: goodputSpec
    .optional()
    .describe('What a request must keep to be a good one; of a model of tensors e2eNs alone'),
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
    .strictObject({ low: end, high: end })
    .refine(({ low, high }) => low <= high, 'a range must not end before it begins');

const levelsSpec = z.strictObject({
  concurrency: range(positiveWhole)
    .optional()
    .describe(
      'Requests in flight to consider; if not given, from 1 to twice the largest batches of all instances, 256 to 4096',
    ),
  batch: range(positiveWhole)
    .optional()
    .describe('Samples in one request to consider, beside concurrency; as many as traffic.batch says if not given'),
  requestRate: range(positive).optional().describe('Requests per second to consider, in place of concurrency'),
  requestDistribution: z
    .enum(requestDistributions)
    .default('constant')
    .describe('How the requests of a rate arrive: evenly spaced, or as a Poisson process'),
  values: z.array(positive).min(1).optional().describe('Load levels of every candidate, where they are listed'),
});

const samplerSpec = z.strictObject({
  name: text
    .optional()
    .describe(
      'A sampler by its name, or the path of a module that exports one; queueing if not given, tpe by an adapter',
    ),
  leastGainPercent: positive
    .optional()
    .describe('Stop when another trial is expected to gain less; by the number of trials if not given'),
  candidates: text.optional().describe('For the manual sampler: a file with a list of assignments'),
  earlyExits: z.boolean().optional().describe('false: a grid leaves no candidate out for what others did'),
});

export const stabilityRules = ['interval', 'perf-analyzer'] as const;

const measurementSpec = z.strictObject({
  precisionPercent: positive.default(3).describe('Measure until the 95 % intervals are within ± this'),
  stability: z.enum(stabilityRules).default('interval').describe('When a level has been measured enough'),
  allowForeignTraffic: z.boolean().default(false).describe('Go on although others send requests to the model'),
});

const accuracySpec = z.strictObject({
  absolute: z.number().nonnegative().default(0).describe('An output a may differ from the expected b by this much,'),
  relative: z.number().nonnegative().default(0).describe('and by this times |b| more'),
  outsideShare: z.number().min(0).max(1).default(0).describe('Share of the output values that may differ by more'),
});

const limitsSpec = z.strictObject({
  maxTrials: positiveWhole.optional().describe('Stop after this many candidates'),
  timeBudgetSeconds: seconds.optional().describe('Stop after this time'),
  loadTimeoutSeconds: seconds.optional().describe('How long one load of the model may take; 600 if not given'),
  maxOutageSeconds: seconds.optional().describe('How long the server may be away before the run ends; 20 if not given'),
});

/** What a recording measures in place of a search (`tritune record`). */
const recordingSpec = z.strictObject({
  grid: text.describe('The file that is written'),
  levelValues: z.array(positive).min(1),
  repeats: positiveWhole,
  latencyLimitMs: positive.optional(),
  windowSeconds: seconds.optional(),
  windows: positiveWhole.optional(),
});

/** Says what a study is: its target, goal, space, load levels, traffic, sampler, limits and outputs. */
export const studySpec = z.strictObject({
  specVersion: z.literal(1).default(1),
  model: text.describe('The model to tune'),
  together: togetherSpec
    .optional()
    .describe('Which models are tuned together, where the config of `model` does not say it'),
  adapter: text.optional().describe('A module with an adapter, for a server that is no Triton'),
  server: serverSpec.prefault({}).describe('Where the model is served'),
  goal: goalSpec.prefault({}).describe('What makes a config good enough, and what makes it better'),
  prices: z
    .union([text, priceList])
    .optional()
    .describe('What GPUs and instance types cost: a file, or what stands in it'),
  cost: costSpec.optional().describe('Which of the prices count, and the rate that is to be served'),
  space: z
    .union([text, z.record(z.string(), z.json())])
    .optional()
    .describe("A search space: a preset, a file, or its definition; the preset of the model's backend if not given"),
  levels: levelsSpec.prefault({}).describe('Load levels to search'),
  workloads: workloadsSpec.optional().describe('Workloads to tune for, in place of an even rate'),
  prompts: promptSpec.optional().describe('What a language model is sent'),
  traffic: trafficSpec.prefault({}).describe('What is sent, and how'),
  sampler: samplerSpec.prefault({}).describe('How candidates are chosen'),
  measurement: measurementSpec.prefault({}).describe('How one load level is measured'),
  accuracy: accuracySpec
    .optional()
    .describe('How far outputs may be from the expected ones, looked at before a candidate is measured'),
  limits: limitsSpec.prefault({}).describe('When a study ends, and how long it waits'),
  seed: z.int().nonnegative().default(1).describe('Seed of everything random'),
  trace: z.boolean().optional().describe('At the end, have the server trace the best for a while'),
  output: text.optional().describe('Directory of the results; tritune-runs/MODEL-TIMESTAMP if not given'),
  modelAnalyzer: z
    .strictObject({ file: text, ignored: z.array(z.strictObject({ key: text, reason: text })) })
    .optional()
    .describe('The file of Model Analyzer that asked for the study, and what of it does not count'),
  recording: recordingSpec.optional(),
});

export type StudySpec = ReadOnly<z.infer<typeof studySpec>>;
/** A study spec as people write it: what has a default may be left out. */
export type StudySpecInput = ReadOnly<z.input<typeof studySpec>>;
export type RecordingSpec = ReadOnly<z.infer<typeof recordingSpec>>;
export type RequestDistribution = (typeof requestDistributions)[number];
export type StabilityName = (typeof stabilityRules)[number];

/** Returns the value as a study spec, with defaults filled in. `origin` names it in errors. Errors: USAGE with the path of the fault. */
export function checkStudySpec(value: unknown, origin: string): StudySpec {
  const outcome = studySpec.safeParse(value);
  if (outcome.success) return outcome.data;
  const [issue] = outcome.error.issues;
  const path = issue?.path.join('.') ?? '';
  throw new TrituneError(
    'USAGE',
    `${origin} is no study: ${path === '' ? '' : `${path}: `}${issue?.message ?? 'it has no fields'}`,
    'docs/study.schema.json says what may stand there',
  );
}

/** Returns the spec as JSON, without fields that are undefined. */
export const specToJson = (spec: StudySpec): JsonObject => JSON.parse(JSON.stringify(spec)) as JsonObject;
