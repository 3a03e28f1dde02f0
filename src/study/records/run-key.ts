import { randomBytes } from 'node:crypto';
import { linkSync, mkdirSync, statSync, unlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { formatMessage } from '#base/errors.ts';
import { flushFolders } from '#base/flush-folders.ts';
import { readBytesSync } from '#base/read-file.ts';
import { userFolder } from '#base/user-folder.ts';

/** The user's key, by which their runs are known as theirs; or why there is none. */
export type RunKey = { readonly key: Buffer } | { readonly key: null; readonly reason: string };

const KEY_BYTES = 32;
/** Not those of the group, to which Kubernetes gives the files of a volume. */
const OTHERS = 0o007;

/** Returns the path of the key: `tritune/run-key` in the user's configuration folder. */
export const runKeyPath = (): string => join(userFolder('config'), 'run-key');

/** Returns the user's key. Makes it at first use, readable by the user alone. */
export function runKey(): RunKey {
  try {
    const path = runKeyPath();
    const key = readKey(path);
    if (key !== null) return key;
    makeKey(path);
    return readKey(path) ?? { key: null, reason: `${path} disappeared` };
  } catch (error) {
    return { key: null, reason: formatMessage(error) };
  }
}

/** null if there is no file. */
function readKey(path: string): RunKey | null {
  const stats = statSync(path, { throwIfNoEntry: false });
  if (!stats) return null;
  // Windows has no such bits.
  if (process.platform !== 'win32' && (stats.mode & OTHERS) !== 0)
    return { key: null, reason: `others may read ${path}; it must have mode 0600` };
  if (!stats.isFile() || stats.size !== KEY_BYTES) return { key: null, reason: `${path} is no key; delete it` };
  return { key: readBytesSync(path, KEY_BYTES) };
}

/** Two processes may make it at the same time: the first to link its file wins. */
function makeKey(path: string): void {
  mkdirSync(join(path, '..'), { recursive: true, mode: 0o700 });
  const draft = `${path}.${randomBytes(8).toString('hex')}`;
  try {
    writeFileSync(draft, randomBytes(KEY_BYTES), { flag: 'wx', mode: 0o600, flush: true });
    linkSync(draft, path);
    // After a power cut the runs that it marks are still the user's.
    flushFolders(path);
  } catch (error) {
    if ((error as { code?: unknown }).code !== 'EEXIST') throw error;
  } finally {
    try {
      unlinkSync(draft);
    } catch {
      // It was never made.
    }
  }
}
