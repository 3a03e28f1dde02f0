import { stringify } from 'yaml';
import { makeFolder } from '#base/make-folder.ts';
import { checkFree, hasFile, writeIn, writeWhole } from '#base/run-files.ts';
import type { ServiceExplanation } from '#explain/explanation.ts';
import { toWorkload } from '#explain/to-workload.ts';
import { explanationHtml } from '#report/explain-page.ts';

/** Where an explanation goes. */
export interface ExplainOutputs {
  /** A file for the JSON. */
  readonly json?: string;
  /** A directory for the JSON, the page, and the traffic of a single model as a workload. */
  readonly output?: string;
}

const FILE = 'explain.json';
const PAGE = 'report.html';
const WORKLOAD = 'workload.yaml';

/**
 * Creates the directory before anything is looked at. The page of an earlier explanation may be
 * overwritten, and no other file. Errors: OUTPUT_UNWRITABLE, OUTPUT_EXISTS.
 */
export async function prepareExplanation({ output }: ExplainOutputs): Promise<void> {
  if (output === undefined) return;
  await makeFolder(output);
  if (!(await hasFile(output, [FILE]))) await checkFree(output, [PAGE, WORKLOAD]);
}

/** Writes the documents. Returns their paths. Errors: OUTPUT_UNWRITABLE. */
export async function writeExplanation(
  explanation: ServiceExplanation,
  { json, output }: ExplainOutputs,
): Promise<readonly string[]> {
  const text = `${JSON.stringify(explanation, null, 2)}\n`;
  if (json !== undefined) await writeWhole(json, text);
  const files = json === undefined ? [] : [json];
  if (output === undefined) return files;
  const [model, ...others] = explanation.models;
  const workload = model && others.length === 0 ? toWorkload(model) : null;
  return [
    ...files,
    await writeIn(output, [FILE], text),
    await writeIn(output, [PAGE], explanationHtml(explanation)),
    ...(workload ? [await writeIn(output, [WORKLOAD], stringify(workload))] : []),
  ];
}
