import { closeSync, fsyncSync, openSync } from 'node:fs';
import { dirname, resolve } from 'node:path';

/**
 * Flushes the folders above a file to the disk, so that a power cut does not take the file,
 * whatever its content. Folders that the user or the system does not let flush are left out:
 * Windows has no such call.
 */
export function flushFolders(path: string): void {
  const above = dirname(resolve(path));
  flushFolder(above);
  if (dirname(above) !== above) flushFolders(above);
}

function flushFolder(path: string): void {
  try {
    const folder = openSync(path, 'r');
    try {
      fsyncSync(folder);
    } finally {
      closeSync(folder);
    }
  } catch {
    // What can be flushed is.
  }
}
