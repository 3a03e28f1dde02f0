import { z } from 'zod';
import type { ReadOnly } from '#base/read-only.ts';
import { count, openObject, text } from '#base/schema.ts';
import { percentileFields } from '#profiler/figure-schemas.ts';
import {
  assignment,
  budgetLatencyMs,
  config,
  errorRate,
  figure,
  finite,
  interval,
  knownInterval,
  latencyMs,
  load,
  openLoop,
  throughput,
} from './figures-schema.ts';
import { classPoint, frontPoint, stagePoint, tokenPoint, workloadPoint } from './parts-schema.ts';

/** The configs in `summary.json`, with what was measured of them. */

/** Figures that a comparison may use. */
const comparedFields = {
  throughput,
  latencyMs,
  budgetLatencyMs,
  tokens: tokenPoint.optional().describe('times and rates of tokens; of a language model only'),
  rateUnit: z.literal('requests/s').optional().describe('unit of the throughput; of plain HTTP only'),
  goodput: interval
    .optional()
    .describe('requests per second that keep all limits of their class; absent without limits'),
  classes: z.array(classPoint).optional().describe('figures by request class, where there are several'),
  fronts: z
    .record(text, frontPoint)
    .optional()
    .describe('what the clients of each saw, where several models get requests'),
  stages: z
    .record(text, stagePoint)
    .optional()
    .describe('of models that are tuned together: where the time went in each'),
  workloads: z
    .record(text, workloadPoint)
    .optional()
    .describe('what was measured under each, where a study has several workloads'),
};

const pointFields = {
  trial: count.describe('number of the trial; 0 is the original config'),
  fingerprint: text.describe('digest of everything that the candidate sets'),
  assignment,
  config,
  models: z
    .record(text, openObject({ assignment, config }))
    .optional()
    .describe('of models that are tuned together: the part of each, under the names of its own parameters'),
  load: load.describe('the load level of the figures'),
  feasible: z.boolean().describe('whether it meets the budget and the constraints'),
  ...comparedFields,
  errorRate,
  failure: text.optional().describe('message of the first failed request; absent if none failed'),
  stable: z.boolean().describe('whether the intervals became as narrow as `--precision` asks'),
  openLoop: openLoop.optional().describe('how well the request rate was kept; at a request rate only'),
};

export const point = openObject(pointFields).meta({
  id: 'point',
  description: 'a config, and what was measured of it at one load level',
});

const instanceType = openObject({
  name: text.describe('name in the prices'),
  gpus: finite.describe('GPUs or slices that it has'),
  perHour: finite.describe('price of one instance for an hour'),
  holds: finite.describe('replicas that it has GPUs for'),
  perMillion: knownInterval.describe('cost of a million inferences'),
  perMillionTokens: knownInterval.optional().describe('cost of a million output tokens; of a language model only'),
  forRate: openObject({
    instances: finite.describe('instances that the rate needs'),
    perHour: finite.describe('cost of all of them for an hour'),
  })
    .optional()
    .describe('what the rate needs, where one is asked for'),
}).meta({ id: 'instanceType', description: 'what a config costs on a type of instance' });

const cost = openObject({
  currency: text.describe('unit of all amounts'),
  name: text.describe('what is paid for'),
  per: z.enum(['gpu', 'server']).describe('whether each GPU is paid for, or the whole server'),
  gpus: figure.describe('different GPUs, or slices, that one server uses'),
  perHour: interval.describe('cost of an hour: of all replicas where a rate is asked for, else of one server'),
  perMillion: interval.describe('cost of a million inferences'),
  perMillionTokens: interval.optional().describe('cost of a million output tokens; of a language model only'),
  forRate: z
    .union([z.number(), z.record(text, z.number())])
    .optional()
    .describe('inferences per second that were asked for, in total or by model'),
  replicas: interval.optional().describe('servers that serve the rate'),
  load: figure.optional().describe('share of the counted capacity of the replicas that the rate takes, 0 to 1'),
  chance: figure.optional().describe('chance that the replicas hold the rate with the headroom left, 0 to 1'),
  throughputPerGpu: interval.optional().describe('inferences per second on each GPU that is used'),
  tokensPerGpu: interval
    .optional()
    .describe('output tokens per second on each GPU that is used; of a language model only'),
  instanceTypes: z
    .array(instanceType)
    .optional()
    .describe('cost on the types of instances with the same GPU, the cheapest first'),
}).meta({ id: 'cost', description: 'what a config costs' });

const standingFields = {
  ...pointFields,
  recommended: openObject({
    of: z.literal('batch').optional().describe('what the levels are; absent: concurrency or request rate'),
    level: figure.describe('highest level that keeps the budget with a chance of 90 %'),
    chance: finite.describe('chance that the budget is kept at the load of this point, 0 to 1'),
    safeLevel: figure.describe('highest level that keeps the budget with a chance of 99 %'),
    margin: finite.describe(
      'headroom: how far the reported percentile, at the usual speed of the machine, lies below the budget, as a share of it',
    ),
  })
    .nullable()
    .meta({
      id: 'recommended',
      description:
        'how safely the budget is kept, and up to which levels; null where the goal is not throughput within a latency budget',
    }),
  compared: openObject(comparedFields).nullable().meta({
    id: 'compared',
    description:
      "the figures at the machine's usual speed, by which `feasible` and the best were decided; null where they were measured at it",
  }),
  cost: cost.optional().describe('what it costs, where the study has prices'),
};

export const standing = openObject(standingFields).meta({
  id: 'standing',
  description: 'the best or the original config',
});

const { p50, p90, p95, p99 } = percentileFields(finite);
const prediction = openObject({
  throughput: finite.describe('inferences per second'),
  latencyMs: openObject({ p50, p90, p95, p99 }).describe('latencies in milliseconds'),
  budgetLatencyMs: openObject({
    percentile: z.number().describe('the percentile'),
    value: finite.describe('milliseconds'),
  }).describe('latency at the percentile of the budget'),
  from: count.describe('measurements that the model was fitted to'),
  quality: openObject({
    medianMiss: finite.describe('median relative error on these measurements'),
    isGood: z.boolean().describe('whether that is small enough to predict by'),
    words: text.describe('the same in words'),
  }).describe('how well the model explains the measurements that it was fitted to'),
  extrapolates: z
    .array(z.enum(['instances', 'batch size', 'variant']))
    .describe('properties that none of these measurements had'),
}).meta({ id: 'prediction', description: 'what the queueing model expects of a config by the other trials' });

export const best = openObject({
  ...standingFields,
  predicted: prediction
    .nullable()
    .describe('what the queueing model expects of it by the other trials; null if it cannot say'),
}).meta({ id: 'best', description: 'the best config' });

/** A config, and what was measured of it at one load level. */
export type SummaryPoint = ReadOnly<z.output<typeof point>>;

/**
 * The parts of a point: by model, absent for a single model; tokens, absent except for language
 * models; goodput, absent without limits; by request class, absent without classes; and by
 * workload, absent unless a study has several.
 */
export type PointParts = Pick<
  SummaryPoint,
  'goodput' | 'classes' | 'workloads' | 'tokens' | 'rateUnit' | 'fronts' | 'stages'
>;

/** The best or the original config. */
export type StandingPoint = ReadOnly<z.output<typeof standing>>;

/** Figures of a config that a comparison may use. */
export type PointFigures = NonNullable<StandingPoint['compared']>;

/** The probabilities of one config's levels, on the machine at its usual speed. */
export type Recommendation = NonNullable<StandingPoint['recommended']>;

/** The cost of a config at its level; amounts in `currency`, with their 95 % intervals. */
export type CostPoint = NonNullable<StandingPoint['cost']>;

/**
 * The cost of serving on one type of instance, with as many replicas on each as it has GPUs for.
 */
export type InstanceTypeCost = NonNullable<CostPoint['instanceTypes']>[number];

/** The queueing model's expectation of a candidate at a load level, before any measurement. */
export type Prediction = ReadOnly<z.output<typeof prediction>>;
