import type { z } from 'zod';
import type { ReadOnly } from '#base/read-only.ts';
import { count, figure, openObject } from '#base/schema.ts';
import { interval, latencySummary, lengthSummary, tokenFields } from './figure-schemas.ts';

/** Token figures of a language model. */
export const tokens = openObject({
  ...tokenFields({ figure, interval, times: latencySummary, lengths: lengthSummary, count }),
  badShare: interval.optional().describe('share of the answered requests that failed or missed a limit, 0 to 1'),
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
