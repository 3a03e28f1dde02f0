import { z } from 'zod';
import type { ReadOnly } from '../base/read-only.ts';
import { count, figure, openObject } from '../base/schema.ts';
import { interval, latencySummary, lengthSummary } from './figure-schemas.ts';

/** Token figures of a language model. */
export const tokens = openObject({
  ttftMs: latencySummary.describe('time to first token, from the sending'),
  scheduledTtftMs: latencySummary.optional().describe('the same from the time due'),
  itlMs: latencySummary.describe('inter-token latency: every gap between pieces with output'),
  tpotMs: latencySummary.describe('time per output token, one figure a request'),
  budget: openObject({
    ttftMs: interval.describe('TTFT in milliseconds'),
    itlMs: interval.describe('ITL in milliseconds'),
    tpotMs: interval.describe('TPOT in milliseconds'),
  }).describe('the percentile of budgetLatencyMs'),
  outputTokensPerSecond: interval.describe('output tokens per second'),
  totalTokensPerSecond: interval.describe('input and output tokens per second'),
  outputTokensPerSecondPerUser: figure.describe('output tokens per second that one user sees: mean of 1 / TPOT'),
  goodput: interval.optional().describe('requests per second that keep all limits'),
  badShare: interval.optional().describe('share of the answered requests that failed or missed a limit, 0 to 1'),
  inputTokens: lengthSummary.describe('lengths of the requests'),
  outputTokens: lengthSummary.describe('lengths of the replies'),
  cachedShare: figure.optional().describe("input tokens in the server's prefix cache, 0 to 1"),
  countedBy: z.enum(['usage', 'tokenizer', 'pieces']).describe('who counted the tokens'),
  cutOff: count.describe('replies that ended before the server said that they were complete'),
}).meta({ id: 'tokens', description: 'times and rates of the tokens of a language model' });

/**
 * Figures of a language model over the successful requests of the counted windows. The end-to-end
 * latency is the measurement's `latencyMs`; its throughput is in requests per second.
 */
export type TokenFigures = ReadOnly<z.output<typeof tokens>>;

/** Figures from the metrics page of a language model's engine. */
export const engine = openObject({
  runningSequences: figure.optional().describe('mean sequences that run'),
  waitingSequences: figure.optional().describe('mean sequences that wait'),
  kvCacheShare: figure.optional().describe('share of the KV cache in use, 0 to 1'),
  preemptionsPerSecond: figure.optional().describe('sequences that lose their place in the KV cache'),
}).meta({ id: 'engine', description: "means of a language model's engine, from its metrics page" });

/**
 * Means over the windows of the scheduler figures on an engine's metrics page; a field is absent if
 * the page lacks it.
 */
export type EngineFigures = ReadOnly<z.output<typeof engine>>;
