import { z } from 'zod';
import { count, text } from '#base/schema.ts';

/** Fields that many records have. */

export const stamp = {
  at: text.describe('time of the record, ISO 8601 in UTC'),
  runMs: z
    .number()
    .nonnegative()
    .optional()
    .describe('milliseconds since this run of the study began, by a clock that nobody sets'),
  check: text
    .optional()
    .describe(
      'check value of the line; absent in journals of 0.2.0 and before. Digest of all bytes since the one before',
    ),
  mark: text.optional().describe('authenticates the check value with the key of the user who wrote the line'),
};
export const trial = { ...stamp, trial: count.describe('number of the trial; 0 is the original config') };
/** Fields of records in studies over several servers. */
export const ofServer = {
  server: text.optional().describe('HOST:PORT of the server, where a study has several'),
  work: text.optional().describe('name of the piece of work, where a study has several servers'),
};
