import { execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { importsOf, resolveImport } from '../test/support/import-graph.ts';
import { listTests } from '../test/support/test-kinds.ts';

/**
 * What a contributor runs after each change: types, lint of the changed files, architecture, and
 * the tests that changed or that import a changed file: `npm run check`, or `npm run check -- REF`
 * for all changes since a commit.
 */
const root = resolve(import.meta.dirname, '..');
const since = process.argv[2] ?? 'HEAD';

const listFiles = (...args: readonly string[]): string[] =>
  execFileSync('git', [...args, '-z'], { cwd: root, encoding: 'utf8' })
    .split('\0')
    .filter(Boolean);

const changed = [
  ...listFiles('diff', '--name-only', since),
  ...listFiles('ls-files', '--others', '--exclude-standard'),
].filter((name) => existsSync(join(root, name)));

/** Returns the tests that changed, or that import a changed file; none that only CI starts. */
function touchedTests(): string[] {
  const files = new Set(changed.map((name) => join(root, name)));
  const isTouched = (test: string): boolean =>
    files.has(test) || importsOf(test).some(({ target }) => files.has(resolveImport(test, target) ?? ''));
  const { unit, system } = listTests();
  return [...unit, ...system].filter((name) => isTouched(join(root, name)));
}

/**
 * Runs a program of node_modules to its end, and prints its output if it fails. Returns whether it
 * did not.
 */
async function succeeds(name: string, program: string, args: readonly string[]): Promise<boolean> {
  const path = join(root, 'node_modules/.bin', program);
  const child = spawn(path, args, { cwd: root, stdio: ['ignore', 'pipe', 'pipe'] });
  let output = '';
  for (const stream of [child.stdout, child.stderr])
    stream.setEncoding('utf8').on('data', (text: string) => {
      output += text;
    });
  const [code] = (await once(child, 'close')) as [number | null];
  process.stdout.write(code === 0 ? `${name}: passed\n` : `${name}: failed\n${output}`);
  return code === 0;
}

const tests = touchedTests();
const always = ['architecture', 'style', 'project-files'].map((name) => `test/${name}.test.ts`);
const projects = ['unit', 'unit-alone', 'system', 'system-alone'].flatMap((name) => ['--project', name]);
const all = await Promise.all([
  succeeds('types', 'tsc', ['--noEmit']),
  succeeds('lint', 'biome', ['check', '--no-errors-on-unmatched', ...changed]),
  succeeds(`architecture, and ${tests.length} files of tests`, 'vitest', ['run', ...projects, ...always, ...tests]),
]);
process.exitCode = all.includes(false) ? 1 : 0;
