import { writeFile } from 'node:fs/promises';
import { formatMessage, TrituneError } from '#base/errors.ts';
import { makeFolder } from '#base/make-folder.ts';
import { checkFree, hasFile, writeIn } from '#base/run-files.ts';
import type { CapacityDocument } from '#capacity/document-schema.ts';
import { capacityCsv } from '#report/capacity-csv.ts';
import { capacityHtml } from '#report/capacity-page.ts';
import type { CapacityOutputs } from '#spec/capacity-spec.ts';

const CAPACITY_FILE = 'capacity.json';

/** Writes the requested documents. Returns their paths. Errors: OUTPUT_UNWRITABLE. */
export async function writeCapacity(
  document: CapacityDocument,
  { json, output }: CapacityOutputs,
): Promise<readonly string[]> {
  const text = `${JSON.stringify(document, null, 2)}\n`;
  const written: string[] = [];
  if (json !== undefined) {
    await writing(json, writeFile(json, text));
    written.push(json);
  }
  if (output === undefined) return written;
  const files = { [CAPACITY_FILE]: text, 'results.csv': capacityCsv(document), 'report.html': capacityHtml(document) };
  for (const [name, content] of Object.entries(files)) written.push(await writeIn(output, [name], content));
  return written;
}

/**
 * Creates the directory before anything is measured, and checks that the documents can be written.
 * Those of an earlier capacity may be overwritten, and no others. Errors: OUTPUT_UNWRITABLE,
 * OUTPUT_EXISTS.
 */
export async function prepareCapacity({ output }: CapacityOutputs): Promise<void> {
  if (output === undefined) return;
  await writing(output, makeFolder(output));
  if (!(await hasFile(output, [CAPACITY_FILE]))) await checkFree(output, ['results.csv', 'report.html']);
}

async function writing(path: string, work: Promise<unknown>): Promise<void> {
  try {
    await work;
  } catch (error) {
    throw new TrituneError('OUTPUT_UNWRITABLE', `cannot write ${path}: ${formatMessage(error)}`, 'choose another path');
  }
}
