import { existsSync } from 'node:fs';
import { cp, readdir, rename, rm, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { messageOf, TrituneError } from '../base/errors.ts';
import { makeFolder } from '../base/make-folder.ts';
import type { Candidate } from '../space/types.ts';
import { metricsOf } from '../study/goal/metrics/registry.ts';
import type { StudyStarted } from '../study/records/records.ts';
import type { StudyState } from '../study/records/state.ts';
import { type Summary, summarize } from '../study/summary/summary.ts';
import { isToEmit } from '../study/summary/verdict.ts';
import type { EmittedCopy, EmittedDocument } from '../tuner/adapter.ts';
import { analyzerTables } from './model-analyzer-csv.ts';
import { reportHtml } from './report-html.ts';
import { paretoCsv, resultsCsv } from './results-csv.ts';
import { workloadsCsv } from './workloads-csv.ts';

export interface WrittenRun {
  readonly summary: Summary;
  readonly started: StudyStarted;
  /** The files of the best candidate, relative to the directory `best`. */
  readonly emitted: readonly string[];
  /** Paths of the written files. `config`, the first file of the best candidate, is null if there is none. */
  readonly files: {
    readonly summary: string;
    readonly results: string;
    readonly pareto: string;
    /** The directory of Model Analyzer's tables. */
    readonly metrics: string;
    readonly report: string;
    readonly config: string | null;
  };
}

/**
 * Writes the study's documents into its directory, each whole or not at all: summary.json, results.csv, pareto.csv, report.html, best/ with the
 * files to serve the best candidate unless that is the original config, and results/ with Model Analyzer's tables. `documentsOf`: returns a candidate's files, from its adapter.
 * Errors: OUTPUT_UNWRITABLE.
 */
export async function writeRun(state: StudyState, directory: string, documentsOf: DocumentsOf): Promise<WrittenRun> {
  const summary = summarize(state, 'journal.jsonl');
  const documents = state.best && isToEmit(summary.verdict) ? documentsOf(state.best.candidate) : [];
  const [config = null] = documents;
  const files = {
    summary: join(directory, 'summary.json'),
    results: join(directory, 'results.csv'),
    pareto: join(directory, 'pareto.csv'),
    metrics: join(directory, 'results'),
    report: join(directory, 'report.html'),
    config: config && join(directory, 'best', config.path),
  };
  await writeWhole(files.summary, `${JSON.stringify(summary, null, 2)}\n`);
  const [metrics, { topology }] = [metricsOf(state.goal), state.started];
  await writeWhole(files.results, resultsCsv(state, metrics, topology));
  await writeWhole(files.pareto, paretoCsv(state.front, metrics, topology));
  const underWorkloads = workloadsCsv(state);
  if (underWorkloads !== null) await writeWhole(join(directory, 'workloads.csv'), underWorkloads);
  for (const { name, text } of analyzerTables(state)) await writeWhole(join(files.metrics, name), text);
  await writeWhole(
    files.report,
    reportHtml(state, summary, config && documents.flatMap((each) => ('text' in each ? [each.text] : [])).join('\n')),
  );
  await writeEmitted(join(directory, 'best'), documents);
  const emitted = documents.map(({ path }) => path);
  await removeOthers(join(directory, 'best'), emitted);
  return { summary, started: state.started, emitted, files };
}

/** Removes what an earlier best left in its folder, because that is copied as a whole, and the folder if nothing stays. */
async function removeOthers(directory: string, emitted: readonly string[]): Promise<void> {
  if (emitted.length === 0) return rm(directory, { recursive: true, force: true });
  const entries = await readdir(directory, { recursive: true });
  const isNeeded = (entry: string): boolean =>
    emitted.some((path) => path === entry || path.startsWith(`${entry}/`) || entry.startsWith(`${path}/`));
  const others = entries.filter((entry) => entry !== MISSING_FILE && !isNeeded(entry));
  for (const entry of others) await rm(join(directory, entry), { recursive: true, force: true });
}

type DocumentsOf = (candidate: Candidate) => readonly Emitted[];
type Emitted = EmittedDocument | EmittedCopy;

/** Lists the files that a config needs but that are on another machine, or gone. */
const MISSING_FILE = 'missing-files.txt';

/** Writes a candidate's files into a directory. Returns the path of the first; null if there are none. Errors: OUTPUT_UNWRITABLE. */
export async function writeEmitted(directory: string, documents: readonly Emitted[]): Promise<string | null> {
  const [first] = documents;
  if (!first) return null;
  const missing: string[] = [];
  for (const document of documents) {
    const path = join(directory, document.path);
    if ('text' in document) await writeWhole(path, document.text);
    else if (existsSync(document.source)) await copyWhole(document.source, path);
    else if (!existsSync(path)) missing.push(`${document.path} is ${document.source}, which is not there\n`);
  }
  const note = join(directory, dirname(first.path), MISSING_FILE);
  if (missing.length > 0) await writeWhole(note, missing.join(''));
  else await rm(note, { force: true });
  return join(directory, first.path);
}

/** Copies a file or folder. Errors: OUTPUT_UNWRITABLE. */
async function copyWhole(source: string, path: string): Promise<void> {
  try {
    await makeFolder(dirname(path));
    await cp(source, path, { recursive: true, force: true });
  } catch (error) {
    throw unwritable(path, error);
  }
}

/** Writes a file and the directories above it. No reader ever sees half of it. Errors: OUTPUT_UNWRITABLE. */
export async function writeWhole(path: string, content: string | Uint8Array): Promise<void> {
  const part = `${path}.part`;
  try {
    await makeFolder(dirname(path));
    await writeFile(part, content);
    await rename(part, path);
  } catch (error) {
    throw unwritable(path, error);
  }
}

const unwritable = (path: string, error: unknown): TrituneError =>
  new TrituneError(
    'OUTPUT_UNWRITABLE',
    `cannot write ${path}: ${messageOf(error)}`,
    'free some space or choose another --output',
    { cause: error },
  );
