import type { z } from 'zod';
import { formatMessage, TrituneError } from '#base/errors.ts';
import { fileLimits, readText } from '#base/read-file.ts';
import { describeFaults } from '#base/schema-faults.ts';

/** Reads a JSON file with this schema. Errors: INPUT_INVALID, with path, reason and hint. */
export async function readJsonFile<T>(path: string, schema: z.ZodType<T>, hint: string): Promise<T> {
  const refuse = (reason: string): never => {
    throw new TrituneError('INPUT_INVALID', `${path}: ${reason}`, hint);
  };
  const text = await readText(path, fileLimits.results).catch((error: unknown) => refuse(formatMessage(error)));
  let json: unknown;
  try {
    json = JSON.parse(text);
  } catch (error) {
    return refuse(formatMessage(error));
  }
  const read = schema.safeParse(json);
  if (read.success) return read.data;
  return refuse(describeFaults(read.error.issues, 'the whole'));
}
