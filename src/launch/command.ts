import { spawn } from 'node:child_process';
import { createWriteStream, mkdirSync, openSync } from 'node:fs';
import { dirname } from 'node:path';
import { finished } from 'node:stream/promises';
import { setTimeout as sleep } from 'node:timers/promises';
import { formatMessage } from '#base/errors.ts';
import { inheritedBy, listSecrets } from './environment.ts';
import { redactedLines } from './redacted-lines.ts';

/** A user's program that ends on its own. */
export interface UserProgram {
  /** A program and its arguments, or a line for the shell. */
  readonly words: readonly string[] | string;
  readonly directory: string;
  /** In addition to the variables of this process that a launched server would inherit. */
  readonly env: Readonly<Record<string, string>>;
  /** The file for all of its output, without its secrets. */
  readonly log: string;
}

/** Time for a command to clean up after the first signal. */
const GRACE_MS = 5_000;
/**
 * Time after the end of a command for the rest of its output: what it started may hold that open
 * for ever.
 */
const REST_MS = 1_000;

/**
 * Runs a command to its end; the signal ends it and everything that it started. Returns how it
 * ended, in words; null on success.
 */
export async function runCommand(
  { words, directory, env, log }: UserProgram,
  signal: AbortSignal,
): Promise<string | null> {
  mkdirSync(dirname(log), { recursive: true });
  const variables = { ...inheritedBy(), ...env };
  const secrets = listSecrets(typeof words === 'string' ? words.split(/\s+/) : words, variables);
  const file = createWriteStream(log, { fd: openSync(log, 'w') });
  // A full disk costs the log, not the build.
  file.on('error', () => undefined);
  const [program = '', ...args] = typeof words === 'string' ? [words] : words;
  try {
    return await new Promise((resolve) => {
      const child = spawn(program, args, {
        cwd: directory,
        env: variables,
        stdio: ['ignore', 'pipe', 'pipe'],
        shell: typeof words === 'string',
        // Its own group, so that everything it starts can be ended with it.
        detached: true,
      });
      const outputs = [child.stdout, child.stderr].map((output) => {
        const lines = output.pipe(redactedLines(secrets));
        lines.pipe(file, { end: false });
        return { output, written: finished(lines).catch(() => undefined) };
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
        const rest = Promise.all(outputs.map(({ written }) => written));
        void Promise.race([rest, sleep(REST_MS, null, { ref: false })]).then(() => {
          for (const { output } of outputs) output.destroy();
          resolve(ending);
        });
      };
      if (signal.aborted) onAbort();
      else signal.addEventListener('abort', onAbort, { once: true });
      child.once('error', (error) => over(`cannot be started: ${formatMessage(error)}`));
      child.once('exit', (code, by) => over(code === 0 ? null : `ended with ${by ?? `code ${code}`}`));
    });
  } finally {
    file.end();
    await finished(file).catch(() => undefined);
  }
}
