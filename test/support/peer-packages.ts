import { execFile } from 'node:child_process';
import { access, rename, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import type { TritonInstall } from '../../src/launch/triton-install.ts';

const run = promisify(execFile);

/** Returns a folder with packages from PyPI for the Python of this Triton, beside its own packages, of which numpy is one; fetched on first use. */
export const pythonPackages = (
  install: TritonInstall,
  name: string,
  requirements: readonly string[],
): Promise<string> =>
  fetchedOnce(install, name, async (folder) => {
    const pip = ['-m', 'pip', 'install', '--quiet', '--disable-pip-version-check', '--no-deps', '--target', folder];
    await run(join(install.binDirectory, 'python'), [...pip, ...requirements], { timeout: 600_000 });
  });

/** Returns a folder beside the real Triton, filled on first use: whole or not at all, also where two processes ask for it. */
export async function fetchedOnce(
  { directory }: Pick<TritonInstall, 'directory'>,
  name: string,
  fill: (folder: string) => Promise<void>,
): Promise<string> {
  const folder = join(directory, 'peers', name);
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
