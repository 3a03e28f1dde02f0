import { z } from 'zod';
import { autoscalerKinds } from '#autoscale/autoscaler.ts';
import type { ReadOnly } from '#base/read-only.ts';
import { LONGEST_TIMER_S } from '#base/units.ts';
import { promptSpec } from '#workload/prompt-spec.ts';
import type { FlatDocument, FlatFields, FlatSection, OptionNames } from './flat-options.ts';
import { httpSpec } from './http-spec.ts';
import { goodputSpec } from './language-spec.ts';
import { costSpec, priceList } from './price-spec.ts';
import { playedSpec, sentSpec, servedSpec } from './profile-spec.ts';
import type { Protocol } from './server-spec.ts';
import { requestDistributions } from './study-spec.ts';

/**
 * What `tritune capacity` finds out, with the sections and fields that a study has where it can.
 */

const text = z.string().min(1);
const positive = z.number().positive();
const seconds = positive.max(LONGEST_TIMER_S);

const goalSpec = z.strictObject({
  latencyBudgetMs: positive
    .optional()
    .describe('Highest latency allowed at the percentile, in milliseconds, from the time that a request is due'),
  percentile: z
    .number()
    .min(1)
    .max(99.99)
    .default(99)
    .describe('Percentage of requests that must keep the budget or the limits'),
  goodput: goodputSpec
    .optional()
    .describe('Limits that this percentage of the requests must keep, instead of a budget'),
});

const loadSpec = z.strictObject({
  requestDistribution: z
    .enum(requestDistributions)
    .default('poisson')
    .describe('Arrivals of a request rate: evenly spaced, or as a Poisson process'),
  burst: z
    .strictObject({
      factor: z.number().gt(1).describe('Rate in the burst over the base rate'),
      seconds: seconds.describe('Its length, in seconds'),
    })
    .optional()
    .describe('Also find the highest rate that stands this burst'),
  recoverWithinSeconds: seconds
    .optional()
    .describe('Time after a burst within which the limit must be kept again; it must be kept throughout by default'),
});

const replicasSpec = z.strictObject({
  ...costSpec.omit({ forRate: true }).shape,
  forRate: positive.optional().describe('Requests per second; find the number of replicas for it'),
  replicaSpreadPercent: z
    .number()
    .min(0)
    .max(50)
    .default(0)
    .describe('Standard deviation of the capacity among replicas, in per cent'),
  forTraffic: text.optional().describe('Workload file with the traffic that an autoscaler is to serve'),
  replicaStartSeconds: seconds
    .optional()
    .describe('From the start of a replica by an autoscaler until it serves, in seconds; a minute by default'),
});

/** The form of a question about the capacity of a server. */
export const capacitySpec = z.strictObject({
  model: text.optional().describe('The model to measure'),
  modelVersion: text.optional().describe("Version of the model; the server's choice by default"),
  server: servedSpec.describe('The server of the model'),
  goal: goalSpec.describe('What a rate must keep'),
  prices: z.union([text, priceList]).optional().describe('Prices of GPUs and instance types: a file or its content'),
  cost: replicasSpec.describe('The prices to use, and the rate to serve'),
  levels: loadSpec.describe('The load'),
  workloads: playedSpec.describe('A workload to scale to each rate'),
  prompts: promptSpec.describe('Prompts of a language model'),
  http: httpSpec.describe('Requests to a plain HTTP service'),
  traffic: sentSpec.describe('The requests, and how they are sent'),
  measurement: z
    .strictObject({
      precisionPercent: positive
        .default(3)
        .describe('Search until the half-width of the 95 % interval of the capacity is at most this'),
    })
    .describe('How long the search goes on'),
  limits: z
    .strictObject({
      timeBudgetSeconds: seconds
        .default(600)
        .describe('Longest time for everything but bursts, in seconds; bursts may take as long again'),
    })
    .describe('Limits of the search'),
  outputs: z
    .strictObject({
      json: text.optional().describe('File with all results, as JSON'),
      output: text.optional().describe('Directory for capacity.json, results.csv and report.html'),
      otlp: text.optional().describe('Address of an OpenTelemetry collector for the figures'),
      emit: z
        .array(
          z.strictObject({
            kind: z.enum(autoscalerKinds).describe('The autoscaler'),
            file: z.string().describe('The file for its object'),
          }),
        )
        .optional()
        .describe('Objects of autoscalers to write, with the values that suit the capacity'),
    })
    .describe('Files to write'),
  seed: z.int().nonnegative().default(1).describe('Seed of the random numbers'),
});

/** The options of a capacity whose names are not those of their fields. */
export const capacityOptionNames = {
  'cost.holdPercent': 'holdChance',
  'workloads.file': 'workload',
  'prompts.thinkTimeMs': 'thinkTimeMs',
  'traffic.agentClockLimitMs': 'agentClockLimitMs',
} as const satisfies OptionNames;

type Names = typeof capacityOptionNames;
type Document = ReadOnly<z.output<typeof capacitySpec>>;
type Section<S extends keyof Document & string> = FlatSection<S, Document[S], Names>;

/** The questions about a server. */
export type CapacityQuestions = Omit<Section<'goal'>, 'goodput'> &
  Section<'cost'> &
  Section<'levels'> &
  Section<'measurement'> &
  Section<'limits'> &
  FlatFields<Pick<Document, 'prices'>, Names>;

/** A server, the requests to it, and the questions about it, as one flat set of options. */
export interface CapacitySpec
  extends CapacityQuestions,
    Pick<Section<'goal'>, 'goodput'>,
    Omit<Section<'server'>, 'protocol'>,
    Section<'workloads'>,
    Section<'prompts'>,
    Section<'http'>,
    Section<'traffic'>,
    FlatFields<Pick<Document, 'model' | 'modelVersion' | 'seed'>, Names> {
  readonly protocol: Protocol;
  /** USER:PASSWORD; neither printed nor stored. */
  readonly basicAuth?: string;
}

/** The paths of the documents of a capacity. */
export type CapacityOutputs = Section<'outputs'>;

/** A question about a capacity as `--set` reaches it. */
export const capacityOptions: FlatDocument = {
  name: 'capacity',
  schema: capacitySpec,
  names: capacityOptionNames,
  page: 'docs/reference/capacity-spec.md',
};
