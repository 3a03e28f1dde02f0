import { z } from 'zod';
import {
  budgetedPercentile,
  intervalFields,
  lengthFields,
  levelFields,
  longestField,
  percentileFields,
  spreadFields,
} from './shared-fields.ts';

/** Values that several records of the journal have. Fields unknown to this version are kept. */

/**
 * JSON has no NaN: a figure that could not be computed was written as null, and is read as NaN
 * again.
 */
export const figure = z.union([z.number(), z.null().transform(() => Number.NaN)]);

/** Not in the journals of earlier versions. */
export const laterFigure = figure.default(Number.NaN);

export const count = z.number().int().nonnegative();
export const text = z.string();
export const json = z.looseObject({});

export const mode = z
  .enum(['concurrency', 'request-rate'])
  .describe('unit of the level: requests in flight, or requests per second');

export const level = z.looseObject(levelFields(mode, count)).meta({ id: 'level', description: 'a load level' });

export const interval = z
  .looseObject(intervalFields(figure))
  .meta({ id: 'interval', description: 'an estimate with its 95 % interval, in the unit of the field that has it' });

export const budgetLatencyMs = z.looseObject({ ...intervalFields(figure), percentile: budgetedPercentile }).meta({
  id: 'budgetLatencyMs',
  description:
    'latency at the percentile of the budget, in milliseconds; at a request rate from when requests were due',
});

const percentiles = { ...percentileFields(figure), ...longestField(figure) };

export const latencySummary = z
  .looseObject({ ...percentiles, ...spreadFields(figure) })
  .meta({ id: 'latencySummary', description: 'times in milliseconds' });

/** The same in journals of any version. */
export const requestLatencies = z
  .looseObject({ ...percentiles, ...spreadFields(laterFigure) })
  .meta({ id: 'latencies', description: 'latencies in milliseconds, from the sending of a request' });

export const lengthSummary = z
  .looseObject(lengthFields(figure))
  .meta({ id: 'lengths', description: 'lengths of requests or replies, in tokens' });
