import { stat } from 'node:fs/promises';
import { studyFiles } from '../output/directory.ts';

/** Tells whether a study was begun in the folder. An empty journal is what a process leaves that was killed before it changed anything. */
export async function hasJournal(folder: string): Promise<boolean> {
  const found = await stat(studyFiles(folder).journal).catch(() => null);
  return found !== null && found.size > 0;
}
