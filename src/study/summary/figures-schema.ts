import { z } from 'zod';
import { count, createJsonObject, jsonObject, openObject, figure as readAsNan, text } from '#base/schema.ts';
import {
  budgetedPercentile,
  endFields,
  intervalFields,
  levelFields,
  longestField,
  mode,
  percentileFields,
  spreadFields,
} from '#profiler/figure-schemas.ts';
import type { Assignment } from '#space/types.ts';

/** Figures that several parts of `summary.json` have. */

/** A figure; null where it is not finite. */
export const figure = z.number().nullable();

/** A figure that is NaN where the file holds null. */
export const finite = readAsNan;

export const assignment = createJsonObject<Assignment>().meta({
  id: 'assignment',
  description: 'parameter of the search space → value',
});

export const config = jsonObject.describe("the whole model config, in the names of Triton's ModelConfig");

export const interval = openObject(intervalFields(figure)).meta({
  id: 'interval',
  description: 'an estimate with its 95 % interval, in the unit of the field that has it',
});

/** An interval whose figures are all known. */
export const knownInterval = openObject(intervalFields(finite)).meta({
  id: 'knownInterval',
  description: 'an estimate with its 95 % interval, in the unit of the field that has it',
});

export const throughput = interval.describe('inferences per second');

const percentiles = percentileFields(figure);

export const latencyMs = openObject(percentiles).meta({
  id: 'latencies',
  description: 'latencies in milliseconds, from the sending of a request',
});

export const latencySummary = openObject({ ...percentiles, ...longestField(figure), ...spreadFields(figure) }).meta({
  id: 'latencySummary',
  description: 'times in milliseconds',
});

export const load = openObject(levelFields(mode, count)).meta({ id: 'loadLevel', description: 'a load level' });

export const budgetLatencyMs = openObject({ percentile: budgetedPercentile, ...intervalFields(figure) }).meta({
  id: 'budgetLatencyMs',
  description: 'latency at the percentile of the budget, in milliseconds',
});

export const errorRate = figure.describe('failed requests among all, 0 to 1');

export const openLoop = openObject({
  scheduledLatencyMs: latencySummary.describe('latency in milliseconds from when each request was due'),
  lateSends: figure.describe('requests that were sent more than a millisecond late'),
  droppedSends: figure.describe('requests that were not sent because too many were in flight'),
  sendLatenessP50Us: figure.describe('upper bound of the median lateness of sends, in microseconds'),
  achievedRate: figure.describe('requests sent per second'),
}).meta({ id: 'openLoop', description: 'how well a request rate was kept' });

export const ratio = openObject({
  ratio: figure.describe('the quotient; above 1 is better'),
  ...endFields(figure),
}).meta({ id: 'ratio', description: 'a quotient of two configs, with its 95 % interval' });

export const constraint = openObject({
  metric: text.describe('name of the metric'),
  relation: z.enum(['<=', '>=']).describe('whether the value is the highest or the lowest that is allowed'),
  value: z.number().describe("the limit, in the metric's unit"),
}).meta({ id: 'constraint', description: 'a limit on a metric' });
