import { execFile } from 'node:child_process';
import { access, rename, rm } from 'node:fs/promises';
import { homedir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';

const run = promisify(execFile);
const LIMIT_MS = 600_000;

/**
 * Returns a folder of this machine's cache with packages from PyPI, fetched on first use. `more`:
 * further options of pip.
 */
export function fromPyPi(requirements: readonly string[], more: readonly string[] = []): Promise<string> {
  const cache = process.env.XDG_CACHE_HOME || join(homedir(), '.cache');
  const folder = join(cache, 'tritune', requirements.join('-').replaceAll('==', '-'));
  return filledOnce(folder, (part) => pipInstall('python3', part, requirements, more));
}

/** Installs packages from PyPI into a folder, with this Python. */
export async function pipInstall(
  python: string,
  folder: string,
  requirements: readonly string[],
  more: readonly string[] = [],
): Promise<void> {
  const pip = ['-m', 'pip', 'install', '--quiet', '--disable-pip-version-check', '--target', folder, ...more];
  await run(python, [...pip, ...requirements], { timeout: LIMIT_MS });
}

/**
 * Fills a folder on first use, and returns it: whole or not at all, also where two processes ask
 * for it.
 */
export async function filledOnce(folder: string, fill: (part: string) => Promise<void>): Promise<string> {
  if (await isThere(folder)) return folder;
  const part = `${folder}.${process.pid}.part`;
  await fill(part);
  await rename(part, folder).catch(() => rm(part, { recursive: true }));
  return folder;
}

const isThere = (path: string): Promise<boolean> =>
  access(path).then(
    () => true,
    () => false,
  );
