import { spawn } from 'node:child_process';
import { closeSync, mkdirSync, openSync } from 'node:fs';
import { dirname } from 'node:path';
import { messageOf } from '../base/errors.ts';

/** A user's program that ends on its own. */
export interface Command {
  /** A program and its arguments, or a line for the shell. */
  readonly words: readonly string[] | string;
  readonly directory: string;
  /** In addition to the variables of this process. */
  readonly env: Readonly<Record<string, string>>;
  /** The file for all of its output. */
  readonly log: string;
}

/** Time for a command to clean up after the first signal. */
const GRACE_MS = 5_000;

/** Runs a command to its end; the signal ends it and everything that it started. Returns how it ended, in words; null on success. */
export async function runCommand({ words, directory, env, log }: Command, signal: AbortSignal): Promise<string | null> {
  mkdirSync(dirname(log), { recursive: true });
  const file = openSync(log, 'w');
  const [program = '', ...args] = typeof words === 'string' ? [words] : words;
  try {
    return await new Promise((resolve) => {
      const child = spawn(program, args, {
        cwd: directory,
        env: { ...process.env, ...env },
        stdio: ['ignore', file, file],
        shell: typeof words === 'string',
        // Its own group, so that everything it starts can be ended with it.
        detached: true,
      });
      let force: NodeJS.Timeout | undefined;
      const endGroup = (how: NodeJS.Signals): void => {
        try {
          if (child.pid !== undefined) process.kill(-child.pid, how);
        } catch {
          // It has already ended.
        }
      };
      const onAbort = (): void => {
        endGroup('SIGTERM');
        force = setTimeout(() => endGroup('SIGKILL'), GRACE_MS);
      };
      const over = (ending: string | null): void => {
        clearTimeout(force);
        if (signal.aborted) endGroup('SIGKILL');
        signal.removeEventListener('abort', onAbort);
        resolve(ending);
      };
      if (signal.aborted) onAbort();
      else signal.addEventListener('abort', onAbort, { once: true });
      child.once('error', (error) => over(`cannot be started: ${messageOf(error)}`));
      child.once('exit', (code, by) => over(code === 0 ? null : `ended with ${by ?? `code ${code}`}`));
    });
  } finally {
    closeSync(file);
  }
}
