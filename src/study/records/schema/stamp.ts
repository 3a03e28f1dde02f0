import { z } from 'zod';
import { count, text } from './figures.ts';

/** Fields that many records have. */

export const stamp = {
  at: text.describe('time of the record, ISO 8601 in UTC'),
  runMs: z
    .number()
    .nonnegative()
    .optional()
    .describe('milliseconds since this run of the study began, by a clock that nobody sets'),
};
export const trial = { ...stamp, trial: count.describe('number of the trial; 0 is the original config') };
/** Fields of records in studies over several servers. */
export const ofServer = {
  server: text.optional().describe('HOST:PORT of the server, where a study has several'),
  work: text.optional().describe('name of the piece of work, where a study has several servers'),
};
