import { z } from 'zod';
import { scalingSchema } from '#autoscale/document.ts';
import type { ReadOnly } from '#base/read-only.ts';
import { count, createJsonObject, figure, jsonObject, openObject, text } from '#base/schema.ts';
import type { Assignment } from '#space/types.ts';

/** The reasons why a service is as slow, or serves as little, as it does. */
export const causeCodes = {
  'batching-off': 'requests are executed one by one, although the model takes batches',
  'delay-never-fills': 'requests wait for batches that do not fill',
  'preferred-never-fits': 'batches wait for preferred sizes that they do not reach',
  'too-few-instances': 'requests wait while all instances are busy, and more instances would help',
  'instances-interfere': 'instances slow each other so much that fewer would serve as much',
  'front-end': "much of a request's time in the server is outside queue and execution",
  client: 'clients wait for answers, or send at a steady pace: the server does not limit them',
  bursts: 'requests arrive in bursts, which wait for each other',
  'batch-limit': 'batches are full, and larger ones would serve more',
  padding: 'batches are filled up to fixed sizes, and much of the work is for samples that are none',
  'slow-member': 'one model of the pipeline takes most of the time',
  sequences: 'requests of sequences wait for a place',
  'other-models': 'executions take longer while other models of the server are busy',
  'cold-loads': 'the model was loaded meanwhile, or its first executions were slow',
  'at-its-ceiling': 'it serves nearly all that it can, and no other config would serve much more',
  nothing: 'it does well',
} as const;

export type CauseCode = keyof typeof causeCodes;

const codes = Object.keys(causeCodes) as [CauseCode, ...CauseCode[]];

const interval = openObject({
  value: figure.describe('estimate'),
  low: figure.describe('lower end of the 95 % interval'),
  high: figure.describe('upper end'),
});

const forecastFields = {
  ceiling: interval.describe('the highest rate within the budget, in requests per second'),
  latencyMs: openObject({
    mean: figure.describe('mean'),
    queue: figure.describe('of the mean, in the queue'),
    tail: figure.describe("at the budget's percentile"),
  })
    .nullable()
    .describe("time of a request in the server at today's rate, in milliseconds; null if it cannot keep up"),
};

const causeSchema = openObject({
  code: z.enum(codes).describe('its name; [the list](../explain.md#from-the-symptom-to-the-cause)'),
  sure: z.enum(['sure', 'likely', 'possible']).describe('how sure it is'),
  evidence: text.describe('the figures behind it'),
});

const modelSchema = openObject({
  model: text.describe('its name'),
  seconds: figure.describe('observed time'),
  traffic: openObject({
    requestsPerSecond: interval.describe('successful requests'),
    failedPerSecond: figure.describe('failed requests'),
    samplesPerRequest: figure.describe('mean batch of a request'),
    arrivals: z.enum(['poisson', 'bursts', 'steady', 'unknown']).describe('how requests arrive'),
    dispersion: interval
      .nullable()
      .describe('variance over mean of the requests per reading: 1 for independent ones; null if too few were seen'),
  }).describe('what was sent'),
  timesMs: openObject({
    request: figure.describe('in the server'),
    queue: figure.describe('in the queue'),
    execution: figure.describe('in executions'),
    other: figure.describe('the rest'),
  }).describe('mean times of a request in milliseconds'),
  batches: openObject({
    mean: figure.describe('samples of an execution'),
    largest: count.describe('the largest that the config allows'),
    sizes: z
      .array(
        openObject({
          size: count.describe('samples'),
          executions: count.describe('number'),
          meanExecutionMs: figure.describe('mean time of one'),
        }),
      )
      .describe('executions by batch size'),
  }).describe('how requests were batched'),
  instances: openObject({
    count: count.describe('in the config'),
    busy: figure.describe('mean number of busy ones'),
  }).describe('instances of the model'),
  causes: z.array(causeSchema).describe('the most important first'),
  present: openObject({
    ...forecastFields,
    headroom: figure.describe("the ceiling over today's rate"),
  })
    .nullable()
    .describe('what the present config would do, by simulation; null if it cannot be simulated'),
  proposal: openObject({
    ...forecastFields,
    changes: z
      .array(
        openObject({
          path: text.describe('of the field'),
          before: text.nullable().describe('its value as JSON; null without one'),
          after: text.nullable().describe('the new value'),
        }),
      )
      .describe('fields that differ'),
    assignment: createJsonObject<Assignment>().describe('the same by parameters of the search space `base`'),
    config: jsonObject.describe('the whole model config'),
  })
    .nullable()
    .describe('a config that is predicted to be better; null if there is none'),
  unknown: z.array(text).describe('what these readings cannot tell'),
  settle: text.nullable().describe('the measurement that would tell most of it'),
});

export const explanationSchema = openObject({
  schemaVersion: z.literal(1).describe('Version of the format'),
  trituneVersion: text.describe('Version of tritune'),
  at: text.describe('End of the observation, in UTC'),
  server: openObject({
    name: text.describe('its name'),
    version: text.describe('its version'),
    url: text.describe('its address'),
  }).describe('The server'),
  budget: openObject({
    percentile: figure.describe('of latencies'),
    latencyMs: figure.nullable().describe('null for none'),
  }).describe('What ceilings keep'),
  models: z.array(modelSchema).describe('Models with requests, the one with most to gain first'),
  idle: z.array(text).describe('Models without requests'),
  autoscalers: z.array(scalingSchema).optional().describe('Autoscalers whose objects were written'),
}).describe('What tritune explain saw: what a server does, why, and what would be better');

export type ServiceExplanation = ReadOnly<z.output<typeof explanationSchema>>;
export type ModelExplanation = ServiceExplanation['models'][number];
export type Cause = ModelExplanation['causes'][number];
