import { z } from 'zod';
import type { ReadOnly } from '#base/read-only.ts';
import { count, openObject, text } from '#base/schema.ts';

/** How much better than a config any config of its space can be, at any load level. */
export const certificate = openObject({
  confidence: z.number().describe('the chance that it is true, 0 to 1'),
  gain: z
    .number()
    .nullable()
    .describe('no config is better by more than this, as a fraction; null if that is not known'),
  reason: text.nullable().describe('why it is not known; null if it is'),
  configs: count.describe('configs of the space'),
});

export type Certificate = ReadOnly<z.infer<typeof certificate>>;
