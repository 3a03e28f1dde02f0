import { type WrittenRun, writeRun } from '../report/write-run.ts';
import { foldStudy } from '../study/fold.ts';
import { readJournal } from '../study/journal.ts';
import { safeName, studyFiles } from './output-directory.ts';

/** Writes a study's documents from its journal, finished or not. Errors: JOURNAL_INVALID, OUTPUT_UNWRITABLE. */
export async function writeDocuments(directory: string): Promise<WrittenRun> {
  const state = foldStudy(await readJournal(studyFiles(directory).journal));
  return writeRun(state, directory, safeName(state.started.model));
}
