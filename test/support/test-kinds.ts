import { readFileSync } from 'node:fs';
import { dirname, join, relative, resolve, sep } from 'node:path';
import { sourcesIn } from './import-graph.ts';

const tests = resolve(import.meta.dirname, '..');

/** Folders of tests that have a project, and a server or a browser, of their own. */
const APART = ['real', 'report/browser', 'package', 'fleet/temporal', 'site', 'combinations'];
/** Tests that run whole studies: against faults, for long, in real time, or as a program does. */
const WHOLE = ['faults', 'gpu', 'lab', 'library', 'profiler/first-answers.test.ts', 'soak'];
/** What starts tritune's commands, in a process or in this one. */
const STARTERS = ['cli.ts', 'call-cli.ts', 'cli-program.ts'].map((name) => join(tests, 'support', name));

const IMPORTED = /^(?:import (?!type)[^;]*?|export [^;]*?)from '(\.[^']+)'/gm;

/** True if a file is one of those that start commands, or imports one, directly or not. */
function startsCommands(file: string, seen: Set<string>): boolean {
  if (STARTERS.includes(file)) return true;
  if (seen.has(file) || !file.startsWith(tests)) return false;
  seen.add(file);
  const imported = [...readFileSync(file, 'utf8').matchAll(IMPORTED)].map(([, path = '']) => path);
  return imported.some((path) => startsCommands(resolve(dirname(file), path), seen));
}

/** Vitest's patterns have `/` on every system. */
const toPosix = (path: string): string => path.replaceAll(sep, '/');

const isBelow = (name: string, paths: readonly string[]): boolean =>
  paths.some((path) => name === path || name.startsWith(`${path}/`));

/**
 * Returns the files of tests, as Vitest's `include` takes them: `unit` of functions and rooms, and
 * `system` of whole commands and studies, which wait for processes, servers and time.
 */
export function listTests(): { readonly unit: readonly string[]; readonly system: readonly string[] } {
  const files = sourcesIn(tests).filter((file) => file.endsWith('.test.ts'));
  const here = files.filter((file) => !isBelow(toPosix(relative(tests, file)), APART));
  const isSystem = (file: string): boolean =>
    isBelow(toPosix(relative(tests, file)), WHOLE) || startsCommands(file, new Set());
  const { unit = [], system = [] } = Object.groupBy(here, (file) => (isSystem(file) ? 'system' : 'unit'));
  const toInclude = (file: string): string => toPosix(relative(resolve(tests, '..'), file));
  return { unit: unit.map(toInclude), system: system.map(toInclude) };
}
