import { spawn } from 'node:child_process';
import { closeSync, mkdirSync, openSync, readFileSync } from 'node:fs';
import { dirname } from 'node:path';
import { interrupted } from '../../../base/abort.ts';
import { messageOf } from '../../../base/errors.ts';
import { MS_PER_S } from '../../../base/units.ts';
import type { BuildRecipe } from '../../../space/artifact.ts';

/** Lines of the log that an error repeats. */
const LAST_LINES = 5;
const LONGEST_LINE = 200;
/** After the first signal a command has so long to clean up. */
const GRACE_MS = 5_000;

/** A build that did not end well, in words that name its log and repeat the end of it. */
export class BuildFault extends Error {}

/**
 * Runs the command with TRITUNE_OUTPUT as its output directory; all that it prints goes to the log. A command that is too slow, or whose
 * study is interrupted, is ended with all that it started. Errors: a BuildFault; INTERRUPTED, or the signal's reason.
 */
export async function runBuild(recipe: BuildRecipe, output: string, log: string, signal: AbortSignal): Promise<void> {
  signal.throwIfAborted();
  mkdirSync(dirname(log), { recursive: true });
  const file = openSync(log, 'w');
  const deadline = AbortSignal.timeout(Math.min(recipe.timeoutSeconds * MS_PER_S, 2 ** 31 - 1));
  try {
    const ending = await endOf(recipe, output, file, AbortSignal.any([signal, deadline]));
    if (signal.aborted) throw interrupted(signal);
    if (deadline.aborted) throw fault(`took longer than ${recipe.timeoutSeconds} s`, log);
    if (ending !== null) throw fault(ending, log);
  } finally {
    closeSync(file);
  }
}

/** How the command ended, in words; null where it ended well. */
function endOf(recipe: BuildRecipe, output: string, log: number, ended: AbortSignal): Promise<string | null> {
  const [program = '', args, shell] = wordsOf(recipe.command, output);
  return new Promise((resolve) => {
    const child = spawn(program, args, {
      cwd: recipe.directory,
      env: { ...process.env, ...recipe.env, TRITUNE_OUTPUT: output },
      stdio: ['ignore', log, log],
      shell,
      // A group of its own, so that what it starts can be ended with it.
      detached: true,
    });
    let force: NodeJS.Timeout | undefined;
    const endGroup = (signal: NodeJS.Signals): void => {
      try {
        if (child.pid !== undefined) process.kill(-child.pid, signal);
      } catch {
        // It has ended already.
      }
    };
    const onAbort = (): void => {
      endGroup('SIGTERM');
      force = setTimeout(() => endGroup('SIGKILL'), GRACE_MS);
    };
    const over = (words: string | null): void => {
      clearTimeout(force);
      if (ended.aborted) endGroup('SIGKILL');
      ended.removeEventListener('abort', onAbort);
      resolve(words);
    };
    ended.addEventListener('abort', onAbort, { once: true });
    child.once('error', (error) => over(`cannot be started: ${messageOf(error)}`));
    child.once('exit', (code, signal) => over(code === 0 ? null : `ended with ${signal ?? `code ${code}`}`));
  });
}

/** A list is a program and its arguments, in which $TRITUNE_OUTPUT stands for the directory as in a line for the shell. */
function wordsOf(command: BuildRecipe['command'], output: string): [string | undefined, string[], boolean] {
  if (typeof command === 'string') return [command, [], true];
  const [program, ...args] = command.map((word) => word.replaceAll('$TRITUNE_OUTPUT', output));
  return [program, args, false];
}

function fault(ending: string, log: string): BuildFault {
  const lines = readFileSync(log, 'utf8').trimEnd().split('\n').slice(-LAST_LINES);
  const last = lines.map((line) => line.slice(0, LONGEST_LINE)).filter((line) => line !== '');
  const words = last.length > 0 ? `: ${last.join(' | ')}` : '';
  return new BuildFault(`the build command ${ending}${words} (log: ${log})`);
}
