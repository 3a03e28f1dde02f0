import { mkdir, stat } from 'node:fs/promises';
import { dirname } from 'node:path';

/**
 * Makes a folder and those above it, as far as they are missing. Node's own recursive mkdir never
 * returns for a path in a folder that takes no entries, such as /proc/1/x. Throws a system error.
 */
export async function makeFolder(path: string): Promise<void> {
  const code = await tryToMake(path);
  if (code !== 'ENOENT') return;
  const above = dirname(path);
  if (above !== path) await makeFolder(above);
  if ((await tryToMake(path)) === 'ENOENT') await mkdir(path);
}

/** Returns 'ENOENT' if the folder above is missing. */
async function tryToMake(path: string): Promise<'ENOENT' | null> {
  try {
    await mkdir(path);
    return null;
  } catch (error) {
    const { code } = error as { readonly code?: unknown };
    if (code === 'ENOENT') return code;
    if (code === 'EEXIST' && (await stat(path)).isDirectory()) return null;
    throw error;
  }
}
