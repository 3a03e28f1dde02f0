import { ENGINE } from '#adapter/engine/adapter.ts';
import { engineDocuments } from '#adapter/engine/documents.ts';
import { readLaunchCommand } from '#adapter/engine/launch-command.ts';
import { settingsDocuments } from '#adapter/settings/documents.ts';
import { configDocuments } from '#adapter/triton/documents.ts';
import { artifactsIn } from '#adapter/variants/known-builds.ts';
import { TrituneError } from '#base/errors.ts';
import type { JsonObject } from '#base/json.ts';
import { writePlots } from '#report/write-plots.ts';
import { type WrittenRun, writeEmitted, writeRun } from '#report/write-run.ts';
import { TRITON } from '#space/model-configs.ts';
import { spaceFromJson } from '#space/source/load.ts';
import type { Candidate } from '#space/types.ts';
import type { Metrics } from '#study/goal/metrics/registry.ts';
import { foldStudy } from '#study/records/fold.ts';
import { readJournal } from '#study/records/journal.ts';
import type { ModelRestored, StudyRecord, StudyStarted } from '#study/records/records.ts';
import type { Trial } from '#study/types.ts';
import type { Emitted } from '#tuner/adapter.ts';
import { safeName, studyFiles } from './run-directory.ts';
import { isSeries, readSeriesFile, studiesIn } from './study/series-directory.ts';
import { recordSeries } from './study/series-record.ts';

/** The files to emit for a candidate. */
export type DocumentsOf = (candidate: Candidate) => readonly Emitted[];

/** What a journal does not hold. */
interface Beside {
  /** How the run left the model, if the disk was full. */
  readonly restored?: ModelRestored | null;
  /** The metrics that the goal may name; defaults to the built-in ones. */
  readonly metrics?: Metrics;
  /**
   * Those of the study's adapter. Without them, a study of a server other than Triton emits its
   * settings as JSON.
   */
  readonly listDocuments?: DocumentsOf | undefined;
}

/**
 * Writes a study's documents from its journal, finished or not. Reads no file that the journal
 * names. Errors: JOURNAL_INVALID, OUTPUT_UNWRITABLE.
 */
export async function writeDocuments(directory: string, beside: Beside = {}): Promise<WrittenRun> {
  const { restored = null, metrics } = beside;
  const records = await readJournal(studyFiles(directory).journal, metrics);
  const state = foldStudy(restored ? [...records, restored] : records);
  return writeRun(state, directory, beside.listDocuments ?? documentsFor(state.started));
}

/**
 * Returns the documents of a run on a Triton, with the files of the variants in its search space.
 */
export const tritonDocuments = (model: string, space: JsonObject): DocumentsOf => {
  // A space of several models has no variants.
  const artifacts = space.variants === undefined ? [] : artifactsIn(spaceFromJson(space));
  return (candidate) => configDocuments(candidate, model, safeName, { artifacts });
};

function documentsFor({ adapter, model, spec, space }: StudyStarted): DocumentsOf {
  if (adapter === TRITON) return (candidate) => configDocuments(candidate, model, safeName);
  const { launchCommand, original } = spec.server;
  const { engine } = adapter === ENGINE ? spaceFromJson(space) : { engine: null };
  if (launchCommand === undefined || engine === null) return settingsDocuments;
  const command = readLaunchCommand(launchCommand, original);
  return (candidate) => engineDocuments(candidate, command, engine);
}

/**
 * Does `writeDocuments` for the study in a directory, or for each of a series and the series
 * itself. Errors: the same.
 */
export async function writeAllDocuments(directory: string): Promise<readonly WrittenRun[]> {
  const written: WrittenRun[] = [];
  for (const study of await studiesIn(directory)) written.push(await writeDocuments(study));
  if (await isSeries(directory)) await recordSeries(directory, (await readSeriesFile(directory)).models);
  return written;
}

/**
 * Writes the charts of the study in a directory, or of each study of a series. Errors:
 * JOURNAL_INVALID, OUTPUT_UNWRITABLE, UNSUPPORTED.
 */
export async function writeAllPlots(directory: string): Promise<readonly string[]> {
  const written: string[] = [];
  for (const study of await studiesIn(directory)) {
    written.push(...(await writePlots(foldStudy(await readJournal(studyFiles(study).journal)), study)));
  }
  return written;
}

/**
 * Writes one trial's config.pbtxt, or its settings, next to those of the best trial. Returns the
 * path. Errors: OUTPUT_UNWRITABLE.
 */
export async function exportConfig(directory: string, model: string, { candidate, number }: Trial): Promise<string> {
  const ofTriton = configDocuments(candidate, model, safeName);
  const documents = ofTriton.length > 0 ? ofTriton : settingsDocuments(candidate);
  return (await writeEmitted(directory, `trial-${number}`, documents)) ?? directory;
}

/**
 * Returns the records of the single study in a directory. Errors: JOURNAL_INVALID, USAGE for the
 * directory of a series.
 */
export async function recordsIn(directory: string): Promise<readonly StudyRecord[]> {
  if (!(await isSeries(directory))) return readJournal(studyFiles(directory).journal);
  const studies = (await studiesIn(directory)).join(' or ');
  throw new TrituneError('USAGE', `${directory} contains several studies`, `give one of them: ${studies}`);
}
