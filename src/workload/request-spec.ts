import { z } from 'zod';
import type { ReadOnly } from '#base/read-only.ts';

const text = z.string();
const positiveWhole = z.int().positive();

const wholeRange = z
  .strictObject({ low: z.int().describe('Lowest'), high: z.int().describe('Highest') })
  .refine(({ low, high }) => low <= high, 'a range must not end before it begins');

type WholeRange = ReadOnly<z.infer<typeof wholeRange>>;

const parameterName = text.min(1).describe('Its name');

/** A parameter that each request carries. */
const requestParameter = z
  .discriminatedUnion('type', [
    z.strictObject({ name: parameterName, type: z.literal('bool'), value: z.boolean().describe('Its value') }),
    z.strictObject({
      name: parameterName,
      type: z.enum(['int', 'double']).describe('Type of the value'),
      value: z.number().describe('Its value'),
    }),
    z.strictObject({ name: parameterName, type: z.literal('string'), value: text.describe('Its value') }),
  ])
  .meta({ id: 'requestParameter', description: 'A parameter that each request carries' });

/** The request to send. */
export const requestSpec = z.strictObject({
  batch: positiveWhole.default(1).describe('Samples in one request'),
  inputData: z.array(text.min(1)).optional().describe('`zero`, `random`, or paths of data files; random if not given'),
  shape: z
    .record(text, z.array(z.int().nonnegative()))
    .optional()
    .describe('Shapes of inputs whose dimensions are open, without the batch'),
  integers: z
    .union([wholeRange, z.record(text, wholeRange)])
    .optional()
    .describe(
      'Range of random integers, or ranges by input, `*` for all others; if not given 0 to 1 for token types, 1 for masks and lengths (by their names), and 0 to 99',
    ),
  stringData: text.optional().describe('What every string is, in place of random letters'),
  stringLength: positiveWhole.optional().describe('Letters of a random string; 128 if not given'),
  maxInputSize: positiveWhole.optional().describe('Most MiB of made-up values in one request; 256 if not given'),
  outputTolerance: z
    .number()
    .positive()
    .optional()
    .describe('How far a float of a reply may be from the expected one, relative to 1 or more'),
  requestParameter: z.array(requestParameter).optional().describe('Parameters of every request'),
  sequenceLength: positiveWhole.optional().describe('Requests in a sequence, for models with sequence batching'),
  sequenceLengthVariation: z
    .number()
    .min(0)
    .max(100)
    .optional()
    .describe('Per cent by which lengths differ from sequenceLength; 20 if not given'),
  sequenceIds: wholeRange.optional().describe('Range of correlation ids'),
});

/** Ranges of random integers: of all inputs, or by input, `*` for all others. */
export type IntegerRanges = NonNullable<RequestSpec['integers']>;

export type RequestSpec = ReadOnly<z.infer<typeof requestSpec>>;

/** The key of the range of all inputs that have none of their own. */
export const OTHERS = '*';

/** Returns the ranges by input. */
export const rangesByInput = (ranges: IntegerRanges | undefined): Readonly<Record<string, WholeRange>> =>
  ranges === undefined ? {} : isRange(ranges) ? { [OTHERS]: ranges } : ranges;

const isRange = (ranges: IntegerRanges): ranges is WholeRange => typeof ranges.low === 'number';
