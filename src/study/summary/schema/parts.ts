import { z } from 'zod';
import type { ReadOnly } from '../../../base/read-only.ts';
import { openObject, text } from '../../../base/schema.ts';
import { lengthFields } from '../../../profiler/figure-schemas.ts';
import { budgetLatencyMs, errorRate, figure, interval, latencyMs, latencySummary, load } from './figures.ts';

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

export const tokenPoint = openObject({
  ttftMs: latencySummary.describe('time to first token: from the sending to the first piece with output'),
  scheduledTtftMs: latencySummary.optional().describe('the same from the time due; at a request rate only'),
  itlMs: latencySummary.describe('inter-token latency: every gap between pieces with output'),
  tpotMs: latencySummary.describe(
    'time per output token: (end-to-end − TTFT) / (output tokens − 1), one figure a request',
  ),
  budget: openObject({
    ttftMs: interval.describe('TTFT in milliseconds, at a request rate from the time due'),
    itlMs: interval.describe('ITL in milliseconds'),
    tpotMs: interval.describe('TPOT in milliseconds'),
  }).describe('the percentile of budgetLatencyMs'),
  outputTokensPerSecond: interval.describe('output tokens per second'),
  totalTokensPerSecond: interval.describe('input and output tokens per second'),
  outputTokensPerSecondPerUser: figure.describe('output tokens per second that one user sees: mean of 1 / TPOT'),
  goodput: interval.optional().describe('requests per second that keep all limits; absent without limits'),
  inputTokens: tokenLengths.describe('lengths of the requests'),
  outputTokens: tokenLengths.describe('lengths of the replies'),
  cachedShare: figure.optional().describe("input tokens in the server's prefix cache, 0 to 1"),
  countedBy: z.enum(['usage', 'tokenizer', 'pieces']).describe('who counted the tokens'),
  cutOff: figure.describe('replies that ended before the server said that they were complete'),
}).meta({ id: 'tokens', description: 'the times and rates of tokens' });

export const classPoint = openObject({
  name: text.describe('its name'),
  model: text.optional().describe('its model, where the classes of several models were measured together'),
  requests: figure.describe('requests that ended'),
  failures: figure.describe('failed requests, and those that were due and not sent'),
  throughput: interval.describe('successful requests per second'),
  goodput: interval.optional().describe('requests per second within all limits of the class'),
  latencyMs: latencySummary.describe('latency in milliseconds, at a request rate from the time due'),
  budgetLatencyMs: budgetLatencyMs.optional(),
}).meta({ id: 'requestClass', description: 'what the requests of one class saw' });

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
