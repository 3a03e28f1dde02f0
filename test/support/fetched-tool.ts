import { execFile } from 'node:child_process';
import { access, rename, rm } from 'node:fs/promises';
import { homedir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';

const run = promisify(execFile);
const LIMIT_MS = 600_000;

/**
 * Returns a folder of this machine's cache with packages from PyPI, fetched on first use: whole or not at all, also where two processes ask for
 * it. `more`: further options of pip.
 */
export async function fromPyPi(requirements: readonly string[], more: readonly string[] = []): Promise<string> {
  const cache = process.env.XDG_CACHE_HOME || join(homedir(), '.cache');
  const folder = join(cache, 'tritune', requirements.join('-').replaceAll('==', '-'));
  if (await isThere(folder)) return folder;
  const part = `${folder}.${process.pid}.part`;
  const pip = ['-m', 'pip', 'install', '--quiet', '--disable-pip-version-check', '--target', part, ...more];
  await run('python3', [...pip, ...requirements], { timeout: LIMIT_MS });
  await rename(part, folder).catch(() => rm(part, { recursive: true }));
  return folder;
}

const isThere = (path: string): Promise<boolean> =>
  access(path).then(
    () => true,
    () => false,
  );
