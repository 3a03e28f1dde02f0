import { z } from 'zod';
import type { ReadOnly } from '#base/read-only.ts';
import { count, figure, laterFigure, openObject, text } from '#base/schema.ts';

/**
 * Fields of figures that several documents have alike. Their numbers differ: the journal reads null
 * as NaN again, and keeps fields that a newer version wrote; `summary.json` holds null and nothing
 * else.
 */

type Field = z.ZodType;

export const intervalFields = <F extends Field>(figure: F) => ({
  value: figure.describe('the estimate'),
  ...endFields(figure),
});

/** The ends of an interval. */
export const endFields = <F extends Field>(figure: F) => ({
  low: figure.describe('lower end of the 95 % interval'),
  high: figure.describe('upper end of the 95 % interval'),
});

export const percentileFields = <F extends Field>(figure: F) => ({
  avg: figure.describe('mean'),
  p50: figure.describe('median'),
  p90: figure.describe('90th percentile'),
  p95: figure.describe('95th percentile'),
  p99: figure.describe('99th percentile'),
});

export const longestField = <F extends Field>(figure: F) => ({ max: figure.describe('longest') });

export const spreadFields = <F extends Field>(figure: F) => ({
  min: figure.describe('shortest'),
  std: figure.describe('standard deviation'),
});

/** Lengths of requests or replies. */
export const lengthFields = <F extends Field>(figure: F) => ({
  mean: figure.describe('mean'),
  std: figure.describe('standard deviation'),
  min: figure.describe('least'),
  max: figure.describe('most'),
});

/** A load level. */
export const levelFields = <M extends Field, C extends Field>(mode: M, count: C) => ({
  mode,
  value: z.number().describe('the level, in that unit'),
  batch: count.optional().describe('samples in one request, where the study varies them'),
});

/** The schemas of figures that a document has, by what they are of. */
interface FigureKinds<F extends Field, I extends Field, T extends Field> {
  readonly figure: F;
  readonly interval: I;
  /** A distribution of times in milliseconds. */
  readonly times: T;
}

/** Times and rates of the tokens of a language model. */
export const tokenFields = <F extends Field, I extends Field, T extends Field, L extends Field, C extends Field>({
  figure,
  interval,
  times,
  lengths,
  count,
}: FigureKinds<F, I, T> & { readonly lengths: L; readonly count: C }) => ({
  ttftMs: times.describe(
    'time to first token: from the sending to the first piece with output, or to the end of a reply that comes whole',
  ),
  scheduledTtftMs: times.optional().describe('the same from the time due; at a request rate only'),
  itlMs: times.describe('inter-token latency: every gap between pieces with output; zeros if no reply had two'),
  tpotMs: times.describe(
    'time per output token: (end-to-end − TTFT) / (output tokens − 1), one figure a request; zeros if no reply had one',
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
  inputTokens: lengths.describe('lengths of the requests'),
  outputTokens: lengths.describe('lengths of the replies'),
  cachedShare: figure.optional().describe("input tokens in the server's prefix cache, 0 to 1"),
  countedBy: z.enum(['usage', 'tokenizer', 'pieces']).describe('who counted the tokens'),
  cutOff: count.describe('replies that ended before the server said that they were complete'),
});

/** Figures of the requests of one class. */
export const classFields = <C extends Field, I extends Field, T extends Field, B extends Field>({
  count,
  interval,
  times,
  budgeted,
}: Omit<FigureKinds<Field, I, T>, 'figure'> & { readonly count: C; readonly budgeted: B }) => ({
  name: text.describe('its name'),
  model: text.optional().describe('its model, where the classes of several models were measured together'),
  requests: count.describe('requests that ended'),
  failures: count.describe('failed requests, and those that were due and not sent'),
  throughput: interval.describe('successful requests per second'),
  goodput: interval.optional().describe('requests per second within all limits of the class'),
  latencyMs: times.describe('latency in milliseconds, at a request rate from the time due'),
  budgetLatencyMs: budgeted.optional(),
});

export const budgetedPercentile = z.number().describe('the percentile, such as 99');

export const mode = z
  .enum(['concurrency', 'request-rate'])
  .describe('unit of the level: requests in flight, or requests per second');

export const level = openObject(levelFields(mode, count)).meta({ id: 'level', description: 'a load level' });

export const interval = openObject(intervalFields(figure)).meta({
  id: 'interval',
  description: 'an estimate with its 95 % interval, in the unit of the field that has it',
});

export const budgetLatencyMs = openObject({ ...intervalFields(figure), percentile: budgetedPercentile }).meta({
  id: 'budgetLatencyMs',
  description:
    'latency at the percentile of the budget, in milliseconds; at a request rate from when requests were due',
});

const percentiles = { ...percentileFields(figure), ...longestField(figure) };

export const latencySummary = openObject({ ...percentiles, ...spreadFields(figure) }).meta({
  id: 'latencySummary',
  description: 'times in milliseconds',
});

/** The same in journals of any version. */
export const requestLatencies = openObject({ ...percentiles, ...spreadFields(laterFigure) }).meta({
  id: 'latencies',
  description: 'latencies in milliseconds, from the sending of a request',
});

export const lengthSummary = openObject(lengthFields(figure)).meta({
  id: 'lengths',
  description: 'lengths of requests or replies, in tokens',
});

/** Latency over all requests of the counted windows, in milliseconds. */
export type LatencySummary = ReadOnly<z.output<typeof latencySummary>>;

/** Lengths in tokens, over requests. */
export type LengthSummary = ReadOnly<z.output<typeof lengthSummary>>;
