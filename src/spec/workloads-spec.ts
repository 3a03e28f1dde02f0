import { z } from 'zod';
import { isTrituneError } from '#base/errors.ts';
import { parseRobustRule } from '#workload/robust-rule.ts';

const text = z.string().min(1);
const positive = z.number().positive();

/** The workloads of a study, instead of an even rate. */
export const workloadsSpec = z
  .strictObject({
    files: z
      .array(text)
      .min(1)
      .describe('Workload files; the level of the study is the mean requests per second of the first'),
    weights: z.array(positive).optional().describe('Weight of each file, in their order; equal by default'),
    robust: text
      .default('worst')
      .check((context) => {
        const fault = faultIn(context.value);
        if (fault !== null) context.issues.push({ code: 'custom', message: fault, input: context.value });
      })
      .describe('How to combine the figures of several workloads: worst, mean, or quantile:SHARE'),
    timeScale: positive
      .optional()
      .describe('Factor on the durations, at the same rates; by default longer passes are shortened to 30 s'),
    holdout: z.number().gt(0).lt(1).optional().describe('Share of each trace that is held out for the final'),
  })
  .refine(
    ({ files, weights }) => weights === undefined || weights.length === files.length,
    'there must be as many weights as files',
  );

function faultIn(text: string): string | null {
  try {
    parseRobustRule(text);
    return null;
  } catch (error) {
    if (isTrituneError(error, 'USAGE')) return error.message;
    throw error;
  }
}
