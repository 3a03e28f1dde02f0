import { type ChildProcess, execFile, spawn } from 'node:child_process';
import { mkdtemp, readdir, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { delimiter, dirname, join, resolve } from 'node:path';
import { promisify } from 'node:util';

export const root = resolve(import.meta.dirname, '../..');

/**
 * `node`, `npm` and `npx` as a user has them, on the node that runs the tests, and nothing of this
 * checkout's.
 */
const env = Object.fromEntries(
  Object.entries({ ...process.env, PATH: `${dirname(process.execPath)}${delimiter}${process.env.PATH}` }).filter(
    ([name]) =>
      !/^npm_(lifecycle|package|config_local|config_prefix|execpath|command)/.test(name) && name !== 'INIT_CWD',
  ),
);

/** Runs a program to its end. Errors: it could not start, or its exit code is not 0. */
export const run = (file: string, args: readonly string[], cwd: string, timeoutMs = 200_000) =>
  promisify(execFile)(file, args, { cwd, env, timeout: timeoutMs, maxBuffer: 64e6 });

export const start = (file: string, args: readonly string[], cwd: string): ChildProcess =>
  spawn(file, args, { cwd, env, stdio: ['ignore', 'pipe', 'inherit'], detached: true });

/** What `npm publish` would send: its path. */
export async function pack(): Promise<string> {
  const directory = await mkdtemp(join(tmpdir(), 'tritune-pack-'));
  await run('npm', ['pack', '--pack-destination', directory], root);
  const [file] = await readdir(directory);
  return join(directory, file as string);
}

/**
 * Installs it in an empty folder, a CommonJS project as `npm init` makes it, from npm's cache where
 * that has what it needs; gives the folder.
 */
export async function install(tarball: string): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'tritune-installed-'));
  await writeFile(join(folder, 'package.json'), JSON.stringify({ private: true, type: 'commonjs' }));
  await run('npm', ['install', '--prefer-offline', '--no-audit', '--no-fund', tarball], folder);
  return folder;
}
