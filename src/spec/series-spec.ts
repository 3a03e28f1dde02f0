import { z } from 'zod';
import { TrituneError } from '#base/errors.ts';
import type { JsonObject } from '#base/json.ts';
import type { ReadOnly } from '#base/read-only.ts';
import { describeFaults } from '#base/schema-faults.ts';
import { studySpec } from './study-spec.ts';

/** Several studies on one server, one after another. */
export const seriesSpec = z
  .strictObject({
    studies: z.array(studySpec).min(1).describe('The studies, in the order in which they run'),
    timeBudgetSeconds: z.number().positive().optional().describe('Time for all studies together, in seconds'),
    output: z.string().min(1).optional().describe('Directory for the results, with a directory for each study'),
  })
  .meta({ id: 'series', description: 'Several studies on one server, one after another' });

/**
 * Returns the JSON Schema (2020-12) of a file for `--spec`, a study or a series: the content of
 * docs/study.schema.json.
 */
export function specFileSchema(): JsonObject {
  const schema = z.toJSONSchema(z.union([studySpec, seriesSpec]), { io: 'input' }) as JsonObject;
  return { ...schema, title: 'tritune study, or a series of studies' };
}

export type SeriesSpec = ReadOnly<z.infer<typeof seriesSpec>>;

/**
 * Returns the value as the spec of a series. `origin` names it in errors. Errors: USAGE with the
 * path of the fault.
 */
export function checkSeriesSpec(value: unknown, origin: string): SeriesSpec {
  const outcome = seriesSpec.safeParse(value);
  if (outcome.success) return outcome.data;
  const fault = describeFaults(outcome.error.issues);
  throw new TrituneError('USAGE', `${origin} is not a valid list of studies: ${fault}`, 'add -m MODEL');
}
