import { z } from 'zod';
import type { ReadOnly } from '#base/read-only.ts';
import { openObject } from '#base/schema.ts';
import { classFields, lengthFields, tokenFields } from '#profiler/figure-schemas.ts';
import { budgetLatencyMs, errorRate, figure, interval, latencyMs, latencySummary, load } from './figures-schema.ts';

/** What a point of `summary.json` says by model, by request class, by workload and of tokens. */

const frontFields = {
  load: load.describe('its part of the load level'),
  throughput: figure.describe('inferences per second'),
  latencyMs,
  budgetLatencyMs: figure.describe('latency at the percentile of the budget, in milliseconds'),
  errorRate,
};

export const frontPoint = openObject(frontFields).meta({
  id: 'front',
  description: 'what the clients of one of several models saw',
});

export const workloadPoint = openObject({
  ...frontFields,
  goodput: figure.optional().describe('requests per second within all limits; absent without limits'),
  decides: z.boolean().describe('whether the rule takes its figure'),
}).meta({ id: 'workload', description: 'the figures under one workload, at its own rate' });

export const stagePoint = openObject({
  timesPerRequest: figure.describe(
    'requests to it for each of a client; of models that share a server its part of all',
  ),
  queueMs: figure.describe('mean time in its queue'),
  computeMs: figure.describe('mean time in execution, with input and output'),
  callsMs: figure.describe('mean time in which a BLS model waited for the models that it calls'),
  meanBatch: figure.describe('mean samples in one execution'),
  instances: figure.describe('its instances'),
  busy: figure.describe('busy instances over all instances, 0 to 1'),
}).meta({ id: 'stage', description: 'one model of a pipeline, by the statistics of the server' });

const tokenLengths = openObject(lengthFields(figure)).meta({
  id: 'tokenLengths',
  description: 'lengths of requests or replies, in tokens',
});

export const tokenPoint = openObject(
  tokenFields({ figure, interval, times: latencySummary, lengths: tokenLengths, count: figure }),
).meta({ id: 'tokens', description: 'the times and rates of tokens' });

export const classPoint = openObject(
  classFields({ count: figure, interval, times: latencySummary, budgeted: budgetLatencyMs }),
).meta({ id: 'requestClass', description: 'what the requests of one class saw' });

/** The figures of one of several models as its clients saw them. */
export type FrontPoint = ReadOnly<z.output<typeof frontPoint>>;

/**
 * Where the time of a request to one model went, by the server's own statistics; means in
 * milliseconds.
 */
export type StagePoint = ReadOnly<z.output<typeof stagePoint>>;

/** The figures under one of several workloads, at its own rate. */
export type WorkloadPoint = ReadOnly<z.output<typeof workloadPoint>>;

/** The times and rates of a language model's tokens. */
export type TokenPoint = ReadOnly<z.output<typeof tokenPoint>>;

/** The figures of the requests of one class. */
export type ClassPoint = ReadOnly<z.output<typeof classPoint>>;
