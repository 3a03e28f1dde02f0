import { z } from 'zod';

const bell = {
  mean: z.number().positive(),
  std: z.number().nonnegative(),
  min: z.number().nonnegative().optional(),
  max: z.number().positive().optional(),
};

/** A distribution of whole numbers, such as token counts. */
export const distributionSpec = z
  .discriminatedUnion('kind', [
    z.strictObject({ kind: z.literal('constant'), value: z.number().nonnegative() }),
    z.strictObject({ kind: z.literal('uniform'), low: z.number().nonnegative(), high: z.number().nonnegative() }),
    z.strictObject({ kind: z.literal('normal'), ...bell }),
    z.strictObject({ kind: z.literal('log-normal'), ...bell }),
  ])
  .refine((given) => given.kind !== 'uniform' || given.low <= given.high, 'a range must not end before it begins')
  .refine(
    (given) => !('mean' in given) || (given.min ?? 0) <= (given.max ?? Number.POSITIVE_INFINITY),
    'min must not be above max',
  );
