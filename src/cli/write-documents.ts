import { join } from 'node:path';
import { TrituneError } from '../base/errors.ts';
import { writePlots } from '../report/write-plots.ts';
import { type WrittenRun, writeConfig, writeRun } from '../report/write-run.ts';
import { foldStudy } from '../study/fold.ts';
import { readJournal } from '../study/journal.ts';
import type { ModelRestored } from '../study/records.ts';
import type { Trial } from '../study/types.ts';
import { safeName, studyFiles } from './output-directory.ts';
import { browse } from './screen.ts';
import { isSeries, readSeriesFile, studiesIn } from './series-directory.ts';
import { recordSeries } from './series-record.ts';
import type { Terminal } from './terminal.ts';

/**
 * Writes a study's documents from its journal, finished or not. `restored`: how the run left the model, which a journal on a full
 * disk does not say. Errors: JOURNAL_INVALID, OUTPUT_UNWRITABLE.
 */
export async function writeDocuments(directory: string, restored: ModelRestored | null = null): Promise<WrittenRun> {
  const records = await readJournal(studyFiles(directory).journal);
  const state = foldStudy(restored ? [...records, restored] : records);
  return writeRun(state, directory, safeName(state.started.model));
}

/** `writeDocuments` for the study in a directory, or for each of a series and for the series itself. Errors: as there. */
export async function writeAllDocuments(directory: string): Promise<readonly WrittenRun[]> {
  const written: WrittenRun[] = [];
  for (const study of await studiesIn(directory)) written.push(await writeDocuments(study));
  if (await isSeries(directory)) await recordSeries(directory, (await readSeriesFile(directory)).models);
  return written;
}

/** The charts of the study in a directory, or of each of a series, as files. Errors: JOURNAL_INVALID, OUTPUT_UNWRITABLE, UNSUPPORTED. */
export async function writeAllPlots(directory: string): Promise<readonly string[]> {
  const written: string[] = [];
  for (const study of await studiesIn(directory)) {
    written.push(...(await writePlots(foldStudy(await readJournal(studyFiles(study).journal)), study)));
  }
  return written;
}

/** Writes one trial's config.pbtxt beside the best one's; resolves to its path. Errors: OUTPUT_UNWRITABLE. */
export async function exportConfig(directory: string, model: string, trial: Trial): Promise<string> {
  const path = join(directory, `trial-${trial.number}`, safeName(model), 'config.pbtxt');
  await writeConfig(path, trial.candidate.config, model);
  return path;
}

/** Shows a study, finished or not, on the terminal. Errors: JOURNAL_INVALID, USAGE without a terminal or for a series. */
export async function browseDocuments(directory: string, terminal: Terminal): Promise<void> {
  if (await isSeries(directory)) {
    const studies = (await studiesIn(directory)).join(' or ');
    throw new TrituneError('USAGE', `${directory} holds several studies`, `look at one of them: ${studies}`);
  }
  const records = await readJournal(studyFiles(directory).journal);
  const { model } = foldStudy(records).started;
  await browse(terminal, { earlier: records, exportConfig: (trial) => exportConfig(directory, model, trial) });
}
