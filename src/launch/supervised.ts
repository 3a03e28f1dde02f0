import { createWriteStream } from 'node:fs';
import { basename, dirname } from 'node:path';
import { execa } from 'execa';
import { throwIfInterrupted } from '#base/abort.ts';
import { realClock } from '#base/clock.ts';
import { entryPath } from '#base/package.ts';
import { newFileIn } from '#base/run-files.ts';
import { inheritedBy, listSecrets } from './environment.ts';
import { redactedLines } from './redacted-lines.ts';

/** A process that ends when we do, in any way. */
export interface Supervised {
  readonly hasEnded: () => boolean;
  /** Resolves when it has ended: on its own, or after `stop`. */
  readonly ended: Promise<void>;
  /**
   * Ends it and everything that it started: politely, then by force. Safe to call more than once.
   */
  stop(): Promise<void>;
}

export interface SupervisedOptions {
  /** A program and its arguments; no shell is involved. */
  readonly words: readonly string[];
  /** In addition to the variables of this process that a server may need (`environment.ts`). */
  readonly env?: Readonly<Record<string, string>>;
  /** A new file for all of its output. */
  readonly logFile: string;
  /** Called after it has ended, to remove anything left behind. */
  readonly cleanUp?: (() => Promise<void>) | undefined;
}

const supervisor = entryPath('launch/supervise');
const STOP_GRACE_MS = 10_000;

/** Starts a process under the supervisor (`supervise.ts`). */
export async function startSupervised({ words, env = {}, logFile, cleanUp }: SupervisedOptions): Promise<Supervised> {
  const log = createWriteStream(await newFileIn(dirname(logFile), [basename(logFile)]), { flags: 'wx' });
  const variables = { ...inheritedBy(), ...env };
  const child = execa(process.execPath, [supervisor, ...words], {
    env: variables,
    extendEnv: false,
    // Stays open as long as we live; when it closes, the supervisor ends the process.
    stdin: 'pipe',
    // Its own process group: a Ctrl-C in the terminal is for us; we restore the model first, then
    // end the server.
    detached: true,
    buffer: false,
    reject: false,
    all: true,
    forceKillAfterDelay: STOP_GRACE_MS,
  });
  child.all.pipe(redactedLines(listSecrets(words, variables))).pipe(log);
  let hasEnded = false;
  const ended = child.then(() => {
    hasEnded = true;
  });
  let stopping: Promise<void> | undefined;
  const stop = (): Promise<void> => {
    stopping ??= (async () => {
      child.kill('SIGTERM');
      await ended;
      await cleanUp?.();
    })();
    return stopping;
  };
  return { hasEnded: () => hasEnded, ended, stop };
}

/** A server that will not serve; the message explains why. */
export class NotLive extends Error {
  /** True if it may only need more time. */
  readonly isLate: boolean;

  constructor(message: string, isLate = false) {
    super(message);
    this.isLate = isLate;
  }
}

const POLL_MS = 50;

/**
 * Waits until a started server reports that it serves; `isLive` returns null if nothing answers,
 * and false if the server never will. Errors: a NotLive; INTERRUPTED.
 */
export async function waitUntilLive(
  isLive: () => Promise<boolean | null>,
  hasEnded: () => boolean,
  { timeoutMs, signal }: { readonly timeoutMs: number; readonly signal?: AbortSignal | undefined },
): Promise<void> {
  const deadlineNs = realClock.nowNs() + timeoutMs * 1e6;
  for (;;) {
    const answer = await isLive();
    if (answer) return;
    throwIfInterrupted(signal);
    if (answer === false) throw new NotLive('it says that it is not live');
    if (hasEnded()) throw new NotLive('the process ended');
    if (realClock.nowNs() > deadlineNs) throw new NotLive('no answer before the deadline', true);
    await realClock.sleep(POLL_MS);
  }
}
