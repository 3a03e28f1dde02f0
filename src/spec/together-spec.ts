import { z } from 'zod';
import { requestSpec } from '#workload/request-spec.ts';

const text = z.string().min(1);
const positive = z.number().positive();

/** The settings that the requests of one front may have of their own. */
const frontRequests = requestSpec
  .pick({ inputData: true, shape: true, integers: true, stringData: true, stringLength: true, requestParameter: true })
  .partial();

const partOfLevel = z.union([
  z.strictObject({ share: positive.describe('Share of the level, relative to the other shares; 1 by default') }),
  z.strictObject({ requestsPerSecond: positive.describe('Fixed rate at every load level, in requests per second') }),
]);

/** Models that are tuned together. An ensemble needs none of this: its config lists its models. */
export const togetherSpec = z.strictObject({
  models: z
    .array(text)
    .min(2)
    .optional()
    .describe('Models that share the server, each with its own requests; the first is `model`'),
  mix: z.record(text, partOfLevel).optional().describe('Their shares of the load level; equal by default'),
  requests: z
    .record(text, frontRequests)
    .optional()
    .describe('Requests of one of the models, if they differ from `traffic`'),
  blsComposing: z
    .record(text, z.array(text).min(1))
    .optional()
    .describe(
      'BLS models by name, with the models that they call; nothing for none. Found by a few requests if not given',
    ),
});
