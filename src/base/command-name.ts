import { basename, delimiter, dirname, isAbsolute, relative, resolve } from 'node:path';
import { typedLine } from './shell-words.ts';

interface Start {
  /** The file that Node runs, as an absolute path. */
  readonly script: string;
  /** Node itself, as it was typed. */
  readonly node: string;
  readonly cwd: string;
  readonly env: Readonly<Record<string, string | undefined>>;
}

/** A program of this repository, and the name of its file without the extension. */
const files = { tritune: 'main', 'tritune-lab': 'tritune-lab' } as const;
type Program = keyof typeof files;

/**
 * Returns how a person starts a program again in the same way, quoted for a shell: `npx tritune`,
 * `tritune`, `node dist/cli/main.js`. npm names its command in the environment; a script in a
 * folder of PATH, or in npm's folder of binaries below, has a name of its own.
 */
export function toCommandName({ script, node, cwd, env }: Start, program: Program = 'tritune'): string {
  const [name, folder] = [basename(script), dirname(script)];
  if (/\.[jt]s$/.test(name) && name.slice(0, -3) === files[program]) return typedLine([node, shortest(script, cwd)]);
  if (name !== program) return program;
  if (env.npm_command === 'exec') return `npx ${program}`;
  const isOfNpm = basename(folder) === '.bin';
  const isInPath = (env.PATH ?? '').split(delimiter).some((each) => each !== '' && resolve(cwd, each) === folder);
  if (isInPath) return program;
  return isOfNpm ? `npx ${program}` : typedLine([shortest(script, cwd)]);
}

function shortest(script: string, cwd: string): string {
  const below = relative(cwd, script);
  if (below.startsWith('..') || isAbsolute(below)) return script;
  return below.includes('/') ? below : `./${below}`;
}

/** Returns how a program is started as this process was, to be typed again. */
export const commandName = (program: Program = 'tritune'): string =>
  toCommandName({ script: process.argv[1] ?? '', node: process.argv0, cwd: process.cwd(), env: process.env }, program);

/** Returns a command line to type: `npx tritune restore 'my run'`. */
export const formatCommandLine = (words: readonly string[], program: Program = 'tritune'): string =>
  `${commandName(program)} ${typedLine(words)}`;
