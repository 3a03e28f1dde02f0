import { z } from 'zod';
import type { Json, JsonObject } from '../../../base/json.ts';
import {
  budgetedPercentile,
  endFields,
  intervalFields,
  levelFields,
  longestField,
  mode,
  percentileFields,
  spreadFields,
} from '../../../profiler/figure-schemas.ts';

/** Figures that several parts of `summary.json` have. */

export const figure = z.number().nullable();
/** A number that the file holds as null if it is not finite. */
export const finite = figure as unknown as z.ZodType<number>;

export const count = z.int().nonnegative();

export const text = z.string();

const json: z.ZodType<Json> = z.json().meta({ id: 'json' });

export const assignment = z
  .record(text, json)
  .meta({ id: 'assignment', description: 'parameter of the search space → value' });

export const config = z
  .looseObject({})
  .describe("the whole model config, in the names of Triton's ModelConfig") as unknown as z.ZodType<JsonObject>;

export const interval = z
  .strictObject(intervalFields(figure))
  .meta({ id: 'interval', description: 'an estimate with its 95 % interval, in the unit of the field that has it' });

export const throughput = interval.describe('inferences per second');

export const percentiles = percentileFields(finite);

export const latencyMs = z
  .strictObject(percentiles)
  .meta({ id: 'latencies', description: 'latencies in milliseconds, from the sending of a request' });

export const latencySummary = z
  .strictObject({ ...percentiles, ...longestField(finite), ...spreadFields(finite) })
  .meta({ id: 'latencySummary', description: 'times in milliseconds' });

export const load = z.strictObject(levelFields(mode, count)).meta({ id: 'loadLevel', description: 'a load level' });

export const budgetLatencyMs = z
  .strictObject({ percentile: budgetedPercentile, ...intervalFields(figure) })
  .meta({ id: 'budgetLatencyMs', description: 'latency at the percentile of the budget, in milliseconds' });

export const errorRate = figure.describe('failed requests among all, 0 to 1');

export const openLoop = z
  .strictObject({
    scheduledLatencyMs: latencySummary.describe('latency in milliseconds from when each request was due'),
    lateSends: count.describe('requests that were sent more than a millisecond late'),
    droppedSends: count.describe('requests that were not sent because too many were in flight'),
    sendLatenessP50Us: finite.describe('upper bound of the median lateness of sends, in microseconds'),
    achievedRate: finite.describe('requests sent per second'),
  })
  .meta({ id: 'openLoop', description: 'how well a request rate was kept' });

export const ratio = z
  .strictObject({
    ratio: figure.describe('the quotient; above 1 is better'),
    ...endFields(figure),
  })
  .meta({ id: 'ratio', description: 'a quotient of two configs, with its 95 % interval' });

export const constraint = z
  .strictObject({
    metric: text.describe('name of the metric'),
    relation: z.enum(['<=', '>=']).describe('whether the value is the highest or the lowest that is allowed'),
    value: z.number().describe("the limit, in the metric's unit"),
  })
  .meta({ id: 'constraint', description: 'a limit on a metric' });
