import { z } from 'zod';

/** Values that several records of the journal have. Fields unknown to this version are kept. */

/** JSON has no NaN: a figure that could not be computed was written as null, and is read as NaN again. */
export const figure = z.union([z.number(), z.null().transform(() => Number.NaN)]);

/** Not in the journals of earlier versions. */
export const laterFigure = figure.default(Number.NaN);

export const count = z.number().int().nonnegative();
export const text = z.string();
export const json = z.looseObject({});

export const mode = z
  .enum(['concurrency', 'request-rate'])
  .describe('unit of the level: requests in flight, or requests per second');

export const level = z
  .looseObject({
    mode,
    value: z.number().describe('the level, in that unit'),
    batch: count.optional().describe('samples in one request, where the study varies them'),
  })
  .meta({ id: 'level', description: 'a load level' });

const intervalFields = {
  value: figure.describe('the estimate'),
  low: figure.describe('lower end of the 95 % interval'),
  high: figure.describe('upper end of the 95 % interval'),
};

export const interval = z
  .looseObject(intervalFields)
  .meta({ id: 'interval', description: 'an estimate with its 95 % interval, in the unit of the field that has it' });

export const budgetLatencyMs = z
  .looseObject({ ...intervalFields, percentile: z.number().describe('the percentile, such as 99') })
  .meta({
    id: 'budgetLatencyMs',
    description:
      'latency at the percentile of the budget, in milliseconds; at a request rate from when requests were due',
  });

const percentiles = {
  avg: figure.describe('mean'),
  p50: figure.describe('median'),
  p90: figure.describe('90th percentile'),
  p95: figure.describe('95th percentile'),
  p99: figure.describe('99th percentile'),
  max: figure.describe('longest'),
};

export const latencySummary = z
  .looseObject({ ...percentiles, min: figure.describe('shortest'), std: figure.describe('standard deviation') })
  .meta({ id: 'latencySummary', description: 'times in milliseconds' });

/** The same in journals of any version. */
export const requestLatencies = z
  .looseObject({
    ...percentiles,
    min: laterFigure.describe('shortest'),
    std: laterFigure.describe('standard deviation'),
  })
  .meta({ id: 'latencies', description: 'latencies in milliseconds, from the sending of a request' });

export const lengthSummary = z
  .looseObject({
    mean: figure.describe('mean'),
    std: figure.describe('standard deviation'),
    min: figure.describe('least'),
    max: figure.describe('most'),
  })
  .meta({ id: 'lengths', description: 'lengths of requests or replies, in tokens' });
