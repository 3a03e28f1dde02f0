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

/**
 * Returns how a person starts tritune again in the same way, quoted for a shell: `npx tritune`,
 * `tritune`, `node dist/cli/main.js`. npm names its command in the environment; a script in a
 * folder of PATH, or in npm's folder of binaries below, has a name of its own.
 */
export function toCommandName({ script, node, cwd, env }: Start): string {
  const [name, folder] = [basename(script), dirname(script)];
  if (name !== 'tritune') return /^main\.[jt]s$/.test(name) ? typedLine([node, shortest(script, cwd)]) : 'tritune';
  if (env.npm_command === 'exec') return 'npx tritune';
  const isOfNpm = basename(folder) === '.bin';
  const isInPath = (env.PATH ?? '').split(delimiter).some((each) => each !== '' && resolve(cwd, each) === folder);
  if (isInPath) return 'tritune';
  return isOfNpm ? 'npx tritune' : typedLine([shortest(script, cwd)]);
}

function shortest(script: string, cwd: string): string {
  const below = relative(cwd, script);
  if (below.startsWith('..') || isAbsolute(below)) return script;
  return below.includes('/') ? below : `./${below}`;
}

/** Returns how this process was started, to be typed again. */
export const commandName = (): string =>
  toCommandName({ script: process.argv[1] ?? '', node: process.argv0, cwd: process.cwd(), env: process.env });

/** Returns a command line of tritune to type: `npx tritune restore 'my run'`. */
export const formatCommandLine = (words: readonly string[]): string => `${commandName()} ${typedLine(words)}`;
