import { createWriteStream, readFileSync } from 'node:fs';
import { mkdir } from 'node:fs/promises';
import { extname, join } from 'node:path';
import { execa } from 'execa';
import { throwIfInterrupted } from '../base/abort.ts';
import { realClock } from '../base/clock.ts';
import { TrituneError } from '../base/errors.ts';
import { connectHttp } from '../triton/control/connect.ts';
import { lastWords } from './log-tail.ts';
import type { LaunchedServer, LaunchOptions } from './types.ts';

export interface ServerCommand {
  readonly file: string;
  readonly args: readonly string[];
  readonly env?: Readonly<Record<string, string>>;
  readonly description: string;
  readonly ports: { readonly grpc: number; readonly http: number; readonly metrics: number };
  /** Cores that it may use, where the command itself does not say so. */
  readonly cpus?: string | undefined;
  /** Called after the process has ended, for what it may have left behind. */
  readonly cleanUp?: () => Promise<void>;
}

/** Triton can be given a file for its traces at its start only; tracing is still off. */
export const traceFileArgument = (path: string): string => `--trace-config=triton,file=${path}`;

/** The script beside this one, as source or as built. */
const supervisor = join(import.meta.dirname, `supervise${extname(import.meta.filename)}`);
const POLL_MS = 50;
const STOP_GRACE_MS = 10_000;

/**
 * Starts a Triton-compatible server and waits until it is live. No shell is involved, and it ends when we do, however we do.
 * Errors: LAUNCH_FAILED with the last lines of its log; INTERRUPTED.
 */
export async function startServerProcess(command: ServerCommand, options: LaunchOptions): Promise<LaunchedServer> {
  await mkdir(options.logDirectory, { recursive: true });
  const logFile = join(options.logDirectory, 'server.log');
  const log = createWriteStream(logFile);
  const child = execa(process.execPath, [supervisor, ...onCpus(command), command.file, ...command.args], {
    env: command.env ?? {},
    // Stays open as long as we live; the supervisor ends the server when it closes.
    stdin: 'pipe',
    // Its own process group: a Ctrl-C in the terminal is for us; we restore the model first, then end the server.
    detached: true,
    buffer: false,
    reject: false,
    all: true,
    forceKillAfterDelay: STOP_GRACE_MS,
  });
  child.all.pipe(log);
  let hasEnded = false;
  const ended = child.then(() => {
    hasEnded = true;
  });

  let stopping: Promise<void> | undefined;
  const stop = (): Promise<void> => {
    stopping ??= (async () => {
      child.kill('SIGTERM');
      await ended;
      await command.cleanUp?.();
    })();
    return stopping;
  };

  const httpUrl = `127.0.0.1:${command.ports.http}`;
  try {
    await waitUntilLive(httpUrl, () => hasEnded, options);
  } catch (error) {
    await stop();
    if (!(error instanceof NotLive)) throw error;
    throw new TrituneError(
      'LAUNCH_FAILED',
      `${command.description} did not come up: ${[error.message, wordsIn(logFile)].filter(Boolean).join(': ')}`,
      `its whole log is in ${logFile}`,
    );
  }
  return {
    grpcUrl: `127.0.0.1:${command.ports.grpc}`,
    httpUrl,
    metricsUrl: `http://127.0.0.1:${command.ports.metrics}/metrics`,
    description: command.description,
    logFile,
    ended,
    stop,
  };
}

/** `taskset` becomes the server that it starts. */
const onCpus = ({ cpus }: ServerCommand): readonly string[] =>
  cpus === undefined ? [] : ['taskset', '--cpu-list', cpus];

class NotLive extends Error {}

async function waitUntilLive(httpUrl: string, hasEnded: () => boolean, options: LaunchOptions): Promise<void> {
  const client = connectHttp(httpUrl, { defaultTimeoutMs: 1000 });
  const deadlineNs = realClock.nowNs() + (options.readyTimeoutMs ?? 60_000) * 1e6;
  try {
    for (;;) {
      const isLive = await client.live().catch(() => null);
      if (isLive) return;
      throwIfInterrupted(options.signal);
      // Triton listens when it has set itself up, so that it will never be live when it says that it is not.
      if (isLive === false) throw new NotLive('it says that it is not live');
      if (hasEnded()) throw new NotLive('the process ended');
      if (realClock.nowNs() > deadlineNs) throw new NotLive('no answer before the deadline');
      await realClock.sleep(POLL_MS);
    }
  } finally {
    await client.close();
  }
}

function wordsIn(file: string): string {
  try {
    return lastWords(readFileSync(file, 'utf8'));
  } catch {
    return '';
  }
}
