import { stat } from 'node:fs/promises';
import { studyFiles } from '../run-directory.ts';

/**
 * True if a study was begun in the folder. A process that was killed before it changed anything
 * leaves an empty journal.
 */
export async function hasJournal(folder: string): Promise<boolean> {
  const stats = await stat(studyFiles(folder).journal).catch(() => null);
  return stats !== null && stats.size > 0;
}
