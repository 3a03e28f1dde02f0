import { z } from 'zod';

/**
 * Fields that the journal and `summary.json` have alike. Their numbers differ: the journal holds
 * NaN as null and reads it as NaN again, and fields unknown to this version are kept;
 * `summary.json` holds null and nothing else.
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

export const budgetedPercentile = z.number().describe('the percentile, such as 99');
