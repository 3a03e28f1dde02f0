import { spawn } from 'node:child_process';
import { closeSync, mkdirSync, openSync } from 'node:fs';
import { dirname } from 'node:path';
import { messageOf } from '../base/errors.ts';

/** A program of the user's that ends by itself. */
export interface Command {
  /** A program and its arguments, or a line for the shell. */
  readonly words: readonly string[] | string;
  readonly directory: string;
  /** Beside the variables of this process. */
  readonly env: Readonly<Record<string, string>>;
  /** The file that gets all that it prints. */
  readonly log: string;
}

/** After the first signal a command has this long to clean up. */
const GRACE_MS = 5_000;

/** Runs a command to its end; the signal ends it with all that it started. Returns how it ended, in words; null where it ended well. */
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
        // A group of its own, so that what it starts can be ended with it.
        detached: true,
      });
      let force: NodeJS.Timeout | undefined;
      const endGroup = (how: NodeJS.Signals): void => {
        try {
          if (child.pid !== undefined) process.kill(-child.pid, how);
        } catch {
          // It has ended already.
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
