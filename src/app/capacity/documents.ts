import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { messageOf, TrituneError } from '../../base/errors.ts';
import { makeFolder } from '../../base/make-folder.ts';
import type { CapacityDocument } from '../../capacity/document-schema.ts';
import { capacityCsv } from '../../report/capacity/csv.ts';
import { capacityHtml } from '../../report/capacity/page.ts';

/** The paths of a run's documents. */
export interface CapacityOutputs {
  readonly json?: string;
  readonly output?: string;
}

/** Writes the requested documents. Returns their paths. Errors: OUTPUT_UNWRITABLE. */
export async function writeCapacity(
  document: CapacityDocument,
  { json, output }: CapacityOutputs,
): Promise<readonly string[]> {
  const text = `${JSON.stringify(document, null, 2)}\n`;
  const files: [path: string, text: string][] = [];
  if (json !== undefined) files.push([json, text]);
  if (output !== undefined) {
    await writing(output, makeFolder(output));
    files.push(
      [join(output, 'capacity.json'), text],
      [join(output, 'results.csv'), capacityCsv(document)],
      [join(output, 'report.html'), capacityHtml(document)],
    );
  }
  for (const [path, content] of files) await writing(path, writeFile(path, content));
  return files.map(([path]) => path);
}

/** Creates the directory before anything is measured, and checks that the documents can be written. Errors: OUTPUT_UNWRITABLE. */
export async function prepareCapacity({ output }: CapacityOutputs): Promise<void> {
  if (output !== undefined) await writing(output, makeFolder(output));
}

async function writing(path: string, work: Promise<unknown>): Promise<void> {
  try {
    await work;
  } catch (error) {
    throw new TrituneError('OUTPUT_UNWRITABLE', `cannot write ${path}: ${messageOf(error)}`, 'choose another path');
  }
}
