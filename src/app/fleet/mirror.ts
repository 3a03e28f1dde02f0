import { stat } from 'node:fs/promises';
import { createJournal, resumeJournal } from '#study/records/journal.ts';
import { journalToWrite, prepareOutput } from '../run-directory.ts';
import type { Mirror } from './follow.ts';

/**
 * Opens a directory for the records of a study that runs elsewhere, or continues one. Errors:
 * OUTPUT_*, JOURNAL_INVALID.
 */
export async function openMirror(directory: string): Promise<Mirror> {
  await prepareOutput(directory, '', 0);
  const path = await journalToWrite(directory);
  const size = await stat(path).then(
    (stats) => stats.size,
    () => 0,
  );
  if (size === 0) return { directory, journal: await createJournal(path), earlier: [] };
  const { journal, records } = await resumeJournal(path);
  return { directory, journal, earlier: records };
}
