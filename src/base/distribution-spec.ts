import { z } from 'zod';

const bell = {
  mean: z.number().positive().describe('Mean'),
  std: z.number().nonnegative().describe('Standard deviation'),
  min: z.number().nonnegative().optional().describe('Least value; lower draws are repeated'),
  max: z.number().positive().optional().describe('Largest value; higher draws are repeated'),
};

/** A distribution of whole numbers, such as token counts. */
export const distributionSpec = z
  .discriminatedUnion('kind', [
    z.strictObject({
      kind: z.literal('constant').describe('Always the same value'),
      value: z.number().nonnegative().describe('The only value'),
    }),
    z.strictObject({
      kind: z.literal('uniform').describe('All values from low to high, equally likely'),
      low: z.number().nonnegative().describe('Least value'),
      high: z.number().nonnegative().describe('Largest value'),
    }),
    z.strictObject({ kind: z.literal('normal').describe('A normal distribution'), ...bell }),
    z.strictObject({
      kind: z.literal('log-normal').describe('A log-normal distribution; mean and deviation are of the values'),
      ...bell,
    }),
  ])
  .refine(
    (distribution) => distribution.kind !== 'uniform' || distribution.low <= distribution.high,
    'a range must not end before it begins',
  )
  .refine(
    (distribution) =>
      !('mean' in distribution) || (distribution.min ?? 0) <= (distribution.max ?? Number.POSITIVE_INFINITY),
    'min must not be above max',
  )
  .meta({ id: 'distribution', description: 'A distribution of whole numbers, in the unit of the field that has it' });
