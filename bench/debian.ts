import { execFile } from 'node:child_process';
import { access, mkdir, readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';

const run = promisify(execFile);

/**
 * Unpacks Debian packages into a directory without installing them. `sign`: a file whose presence
 * means that this was done already.
 */
export async function unpackDebian(directory: string, packages: readonly string[], sign: string): Promise<void> {
  await mkdir(directory, { recursive: true });
  if (await isThere(join(directory, sign))) return;
  await run('apt-get', ['download', ...packages], { cwd: directory, timeout: 120_000 });
  for (const file of await readdir(directory)) {
    if (file.endsWith('.deb')) await run('dpkg-deb', ['-x', join(directory, file), directory]);
  }
}

export const isThere = (path: string): Promise<boolean> =>
  access(path).then(
    () => true,
    () => false,
  );
