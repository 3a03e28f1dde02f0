import { access, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { exitCodes } from '#app/exit-codes.ts';
import { formatMessage, TrituneError } from '#base/errors.ts';
import { inertLine } from '#base/format.ts';
import { fileLimits, readText } from '#base/read-file.ts';
import { decideGate, type GateDecision } from '#report/gate/decide.ts';
import { gateAnnotations, gateJson, gateJUnit, gateMarkdown } from '#report/gate/documents.ts';
import { type GateDocument, readGateDocument } from '#report/gate/readings.ts';
import { timesLine } from '#report/gate/times.ts';
import { adviceLine, comparisonLine, decisionLine } from '#report/gate/words.ts';
import type { Terminal } from '../terminal.ts';
import type { CompareOptions } from './compare-options.ts';
import { readTable } from './compare-tables.ts';

/**
 * Compares, writes and prints. Returns the exit code. Errors: USAGE, INPUT_INVALID,
 * OUTPUT_UNWRITABLE.
 */
export async function runCompare(
  baselines: readonly string[],
  runs: readonly string[],
  options: CompareOptions,
  terminal: Terminal,
): Promise<number> {
  if (options.failIfUnsure && options.passIfUnsure)
    throw new TrituneError('USAGE', '--fail-if-unsure and --pass-if-unsure contradict each other', 'give one of them');
  const rule = {
    tolerance: options.tolerance / 100,
    mustSee: options.mustSee / 100,
    confidence: options.confidence / 100,
    allowsOtherModel: options.allowOtherModel ?? false,
  };
  const decision = decideGate(...(await readAll(baselines, runs)), rule);
  await write(decision, options);
  const print = (line: string): void => terminal.print(inertLine(line));
  for (const note of decision.notes) print(note);
  for (const fault of decision.faults) print(`${fault}: REGRESSION`);
  for (const comparison of decision.comparisons) print(comparisonLine(comparison));
  for (const times of decision.times) print(timesLine(times));
  if (options.github ?? process.env.GITHUB_ACTIONS === 'true') {
    for (const line of gateAnnotations(decision)) terminal.print(line, 'ci-command');
  }
  print(decisionLine(decision));
  const advice = adviceLine(decision);
  if (advice !== null) print(advice);
  return toExitCode(decision, options);
}

function toExitCode({ verdict }: GateDecision, { failIfUnsure, passIfUnsure }: CompareOptions): number {
  if (verdict === 'passed') return exitCodes.done;
  if (verdict === 'regression' || failIfUnsure) return exitCodes.regression;
  return passIfUnsure ? exitCodes.done : exitCodes.inconclusive;
}

/**
 * Errors: INPUT_INVALID, also for documents of different commands, which have no figure in common.
 */
async function readAll(
  baselines: readonly string[],
  runs: readonly string[],
): Promise<[GateDocument[], GateDocument[]]> {
  const paths = [...baselines, ...runs];
  const documents = await Promise.all(paths.map(read));
  const other = documents.findIndex(({ kind }) => kind !== documents[0]?.kind);
  if (other >= 0) {
    const [one, another] = [documents[0]?.kind, documents[other]?.kind];
    const what = `${paths[0]} is a ${one} document, and ${paths[other]} a ${another} document`;
    throw new TrituneError('INPUT_INVALID', what, `compare ${one} documents with each other`);
  }
  return [documents.slice(0, baselines.length), documents.slice(baselines.length)];
}

/** Errors: INPUT_INVALID. */
async function read(path: string): Promise<GateDocument> {
  try {
    const file = (await stat(path)).isDirectory() ? await documentIn(path) : path;
    const text = await readText(file, fileLimits.results);
    const isDocument = file !== path || /^\s*[{[]/.test(text);
    return isDocument ? readGateDocument(text, file) : readTable(text, file);
  } catch (error) {
    if (error instanceof TrituneError) throw error;
    throw new TrituneError(
      'INPUT_INVALID',
      `cannot read ${path}: ${formatMessage(error)}`,
      'give a file or the directory of a run',
    );
  }
}

/** Returns the document of a run's directory that is compared. */
async function documentIn(directory: string): Promise<string> {
  const capacity = join(directory, 'capacity.json');
  const isCapacity = await access(capacity).then(
    () => true,
    () => false,
  );
  return isCapacity ? capacity : join(directory, 'summary.json');
}

/** Appends the table, because the summary page of a job may have other parts. */
async function write(decision: GateDecision, { junit, json, markdown }: CompareOptions): Promise<void> {
  try {
    if (junit !== undefined) await writeFile(junit, gateJUnit(decision));
    if (json !== undefined) await writeFile(json, gateJson(decision));
    if (markdown !== undefined) await writeFile(markdown, gateMarkdown(decision), { flag: 'a' });
  } catch (error) {
    throw new TrituneError('OUTPUT_UNWRITABLE', `cannot write: ${formatMessage(error)}`, 'choose another file');
  }
}
