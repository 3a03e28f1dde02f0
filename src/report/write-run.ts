import { basename, join } from 'node:path';
import { plainLine } from '#base/format.ts';
import { copyIn, hasFile, listIn, namesIn, removeIn, writeIn } from '#base/run-files.ts';
import type { Measurement } from '#profiler/measurement.ts';
import type { Candidate } from '#space/types.ts';
import { decidingWorkload } from '#study/goal/deciding-workload.ts';
import { listColumns } from '#study/goal/metrics/columns.ts';
import { toMetrics } from '#study/goal/metrics/registry.ts';
import { tableMetrics } from '#study/goal/metrics/shown.ts';
import type { StudyStarted } from '#study/records/records.ts';
import type { StudyState } from '#study/records/state.ts';
import { summarize } from '#study/summary/summary.ts';
import type { Summary } from '#study/summary/summary-schema.ts';
import { isToEmit } from '#study/summary/verdict.ts';
import type { Emitted, EmittedDocument } from '#tuner/adapter.ts';
import { type CsvCell, csvText } from './csv.ts';
import { analyzerTables } from './model-analyzer-csv.ts';
import { reportHtml } from './report-html.ts';
import { paretoCsv, resultsCsv } from './results-csv.ts';

/**
 * Returns a table with a row for every measurement under every workload, those of the final after
 * those of the search; null if a study does not have several workloads. `level` is the study's,
 * `load_value` the workload's own rate.
 */
export function workloadsCsv(state: StudyState): string | null {
  const { trials, finals, goal, started } = state;
  const all = trials.flatMap((trial) => [
    ...trial.measurements.map((measurement) => ({ trial, round: '' as CsvCell, measurement })),
    ...finals
      .filter((final) => final.trial === trial.number)
      .map(({ round, measurement }) => ({ trial, round, measurement })),
  ]);
  const measurements = all.flatMap(({ measurement: { workloads = [] } }) => workloads);
  if (measurements.length === 0) return null;
  const metrics = toMetrics(goal);
  const columns = tableMetrics(metrics, measurements).flatMap(listColumns);
  const rows = all.flatMap(({ trial, round, measurement }) => {
    const deciding = decidingWorkload(measurement, trial.candidate, goal, started.workloads);
    return (measurement.workloads ?? []).map((each): readonly CsvCell[] => [
      ...[trial.number, round, measurement.level.value, each.workload, each.weight],
      ...[String(each === deciding), each.level.value, String(each.stable), each.durationMs, each.requests],
      ...columns.map(({ read }) => read(each satisfies Measurement, trial.candidate)),
    ]);
  });
  return csvText([[...fixed, ...columns.map(({ name }) => name)], ...rows]);
}

const fixed = [
  ...['trial', 'final_round', 'level', 'workload', 'weight'],
  ...['decides', 'load_value', 'stable', 'duration_ms', 'requests'],
];

export interface WrittenRun {
  readonly summary: Summary;
  readonly started: StudyStarted;
  /** The files of the best candidate, relative to the directory `best`. */
  readonly emitted: readonly string[];
  /**
   * Paths of the written files. `config`, the first file of the best candidate, is null if there is
   * none.
   */
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
 * Writes the study's documents into its directory, each whole or not at all: summary.json,
 * results.csv, pareto.csv, report.html, best/ with the files to serve the best candidate unless
 * that is the original config, front/ with the configs of the other trials on the Pareto front, and
 * results/ with Model Analyzer's tables. `listDocuments`: returns
 * a candidate's files, from its adapter. Errors: OUTPUT_UNWRITABLE.
 */
export async function writeRun(state: StudyState, directory: string, listDocuments: DocumentsOf): Promise<WrittenRun> {
  const summary = summarize(state, 'journal.jsonl');
  const documents = state.best && isToEmit(summary) ? listDocuments(state.best.candidate) : [];
  const [config = null] = documents;
  const files = {
    summary: join(directory, 'summary.json'),
    results: join(directory, 'results.csv'),
    pareto: join(directory, 'pareto.csv'),
    metrics: join(directory, 'results'),
    report: join(directory, 'report.html'),
    config: config && join(directory, 'best', config.path),
  };
  const write = (names: readonly string[], text: string): Promise<string> => writeIn(directory, names, text);
  await write(['summary.json'], `${JSON.stringify(summary, null, 2)}\n`);
  const [metrics, { topology }] = [toMetrics(state.goal), state.started];
  await write(['results.csv'], resultsCsv(state, metrics, topology));
  await write(['pareto.csv'], paretoCsv(state.front, metrics, topology));
  const underWorkloads = workloadsCsv(state);
  if (underWorkloads !== null) await write(['workloads.csv'], underWorkloads);
  for (const { name, text } of analyzerTables(state)) await write(['results', name], text);
  await write(
    ['report.html'],
    reportHtml(state, summary, config && documents.flatMap((each) => ('text' in each ? [each.text] : [])).join('\n')),
  );
  await writeEmitted(directory, 'best', documents);
  const emitted = documents.map(({ path }) => path);
  await removeOthers(directory, emitted);
  await writeFront(state, directory, listDocuments);
  return { summary, started: state.started, emitted, files };
}

/**
 * Writes the configs of the other trials on the Pareto front, for users who would rather have less
 * latency or more throughput; without files of variants, which may be large. Those of an earlier
 * front go.
 */
async function writeFront({ front, best }: StudyState, directory: string, listDocuments: DocumentsOf): Promise<void> {
  await removeIn(directory, [FRONT]);
  const others = front.filter(({ trial }) => trial.role !== 'baseline' && trial.number !== best?.number);
  // A trial may be on the front with several levels.
  for (const [number, candidate] of new Map(others.map(({ trial }) => [trial.number, trial.candidate]))) {
    const texts = listDocuments(candidate).filter((each) => 'text' in each);
    await writeEmitted(directory, `${FRONT}/${number}`, texts);
  }
}

/**
 * Removes what an earlier best left in its folder, because that is copied as a whole, and the
 * folder if nothing stays.
 */
async function removeOthers(directory: string, emitted: readonly string[]): Promise<void> {
  if (emitted.length === 0) return removeIn(directory, ['best']);
  const entries = await listIn(directory, ['best']);
  const isNeeded = (entry: string): boolean =>
    emitted.some((path) => path === entry || path.startsWith(`${entry}/`) || entry.startsWith(`${path}/`));
  const others = entries.filter((entry) => basename(entry) !== MISSING_FILE && !isNeeded(entry));
  for (const entry of others) await removeIn(directory, ['best', ...entry.split('/')]);
}

const FRONT = 'front';

/** The names that a run writes into its directory, besides its journal. */
export const DOCUMENT_NAMES: readonly string[] = [
  ...['summary.json', 'results.csv', 'pareto.csv', 'workloads.csv', 'report.html', 'best', FRONT, 'results', 'plots'],
];

type DocumentsOf = (candidate: Candidate) => readonly Emitted[];

/** Lists the files that a config needs but that are on another machine, or gone. */
const MISSING_FILE = 'missing-files.txt';

/**
 * Writes a candidate's files into a folder, such as `best` or `front/3`, of the run's directory.
 * Returns the path of the first; null if there are none. Errors: OUTPUT_UNWRITABLE.
 */
export async function writeEmitted(
  directory: string,
  folder: string,
  documents: readonly Emitted[],
): Promise<string | null> {
  const [first] = documents;
  if (!first) return null;
  const missing: string[] = [];
  for (const document of documents) {
    const names = [...namesIn(folder), ...namesIn(document.path)];
    if ('text' in document) await writeIn(directory, names, document.text);
    else if (!(await isThere(directory, names, document))) {
      const from = 'source' in document ? document.source : document.was;
      missing.push(
        `${document.path} is ${plainLine(from, 4096)}, which ${'source' in document ? NOT_THERE : NOT_READ}\n`,
      );
    }
  }
  const note = [...namesIn(folder), ...namesIn(first.path).slice(0, -1), MISSING_FILE];
  if (missing.length > 0) await writeIn(directory, note, missing.join(''));
  else await removeIn(directory, note);
  return join(directory, folder, first.path);
}

const NOT_THERE = 'is not there';
const NOT_READ = 'only the journal names: copy it yourself if you trust it';

/**
 * Copies the file, or finds an earlier copy; one of another content is of another candidate, and is
 * removed.
 */
async function isThere(
  directory: string,
  names: readonly string[],
  document: Exclude<Emitted, EmittedDocument>,
): Promise<boolean> {
  const { sha256 } = document;
  const copied = 'source' in document && { path: document.source, ...(sha256 !== undefined && { sha256 }) };
  if (copied && (await copyIn(directory, names, copied))) return true;
  if (await hasFile(directory, names, sha256)) return true;
  if (sha256 !== undefined) await removeIn(directory, names);
  return false;
}
