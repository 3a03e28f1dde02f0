import { mkdir, readFile, symlink } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join, resolve } from 'node:path';
import { bundle } from '../../.ci/bundle.ts';
import { BUNDLED_CLI } from './cli-program.ts';

const root = resolve(import.meta.dirname, '../..');

/**
 * Bundles the command line once for all tests that start it, as the package has it, in a folder
 * like that of the package.
 */
export async function setup(): Promise<void> {
  // Another project of the same run has done it.
  if (process.env[BUNDLED_CLI]) return;
  // Goes with the folder for temporary files (`own-folder.ts`).
  const folder = join(tmpdir(), 'tritune');
  const code = join(folder, 'dist');
  await bundle(code);
  const { files } = JSON.parse(await readFile(join(root, 'package.json'), 'utf8')) as { files: readonly string[] };
  for (const each of ['package.json', 'node_modules', ...files.filter((name) => name !== 'dist')]) {
    await mkdir(dirname(join(folder, each)), { recursive: true });
    await symlink(join(root, each), join(folder, each));
  }
  process.env[BUNDLED_CLI] = code;
}
