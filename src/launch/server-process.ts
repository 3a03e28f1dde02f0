import { join } from 'node:path';
import { TrituneError } from '#base/errors.ts';
import { readEndSync } from '#base/read-file.ts';
import { connectHttp } from '#triton/control/connect.ts';
import type { ServerPorts } from './free-ports.ts';
import { lastWords } from './log-tail.ts';
import { NotLive, startSupervised, waitUntilLive } from './supervised.ts';
import type { LaunchedServer, LaunchOptions } from './types.ts';

export interface ServerCommand {
  readonly file: string;
  readonly args: readonly string[];
  readonly env?: Readonly<Record<string, string>>;
  readonly description: string;
  readonly ports: ServerPorts;
  /** Cores that it may use, if the command itself does not set them. */
  readonly cpus?: string | undefined;
  /** Called after the process has ended, to remove anything left behind. */
  readonly cleanUp?: () => Promise<void>;
}

/** Triton accepts a trace file only at its start; tracing is still off. */
export const traceFileArgument = (path: string): string => `--trace-config=triton,file=${path}`;

const READY_TIMEOUT_MS = 60_000;

/**
 * Starts a Triton-compatible server and waits until it is live. Uses no shell; the server ends when
 * we do, in any way. Errors: LAUNCH_FAILED with the last lines of its log; INTERRUPTED.
 */
export async function startServerProcess(command: ServerCommand, options: LaunchOptions): Promise<LaunchedServer> {
  const logFile = join(options.logDirectory, 'server.log');
  const { hasEnded, ended, stop } = await startSupervised({
    words: [...onCpus(command.cpus), command.file, ...command.args],
    env: command.env ?? {},
    logFile,
    cleanUp: command.cleanUp,
  });
  let isStopped = false;
  const httpUrl = `127.0.0.1:${command.ports.http}`;
  const client = connectHttp(httpUrl, { defaultTimeoutMs: 1000 });
  try {
    // Triton listens only once it has set itself up, so if it reports that it is not live, it never
    // will be.
    const timeoutMs = options.readyTimeoutMs ?? READY_TIMEOUT_MS;
    await waitUntilLive(() => client.live().catch(() => null), hasEnded, { timeoutMs, signal: options.signal });
  } catch (error) {
    await stop();
    if (!(error instanceof NotLive)) throw error;
    throw new TrituneError(
      'LAUNCH_FAILED',
      `${command.description} did not start: ${[error.message, wordsIn(logFile)].filter(Boolean).join(': ')}`,
      `read its log in ${logFile}`,
    );
  } finally {
    await client.close();
  }
  return {
    grpcUrl: `127.0.0.1:${command.ports.grpc}`,
    httpUrl,
    metricsUrl: `http://127.0.0.1:${command.ports.metrics}/metrics`,
    description: command.description,
    logFile,
    ended,
    failure: () => {
      if (isStopped || !hasEnded()) return null;
      const words = wordsIn(logFile);
      return new TrituneError(
        'SERVER_UNREACHABLE',
        `${command.description}, which was started for the run, ended by itself${words === '' ? '' : `: ${words}`}`,
        `read its log in ${logFile}`,
      );
    },
    stop: () => {
      isStopped = true;
      return stop();
    },
  };
}

/**
 * Returns the words that pin a server to the CPUs, before its own: `taskset` replaces itself with
 * it. Errors: UNSUPPORTED on a system other than Linux.
 */
export function onCpus(cpus: string | undefined): readonly string[] {
  if (cpus === undefined) return [];
  if (process.platform !== 'linux')
    throw new TrituneError(
      'UNSUPPORTED',
      'a server is pinned to CPUs with taskset, which only Linux has',
      'leave out --server-cpus',
    );
  return ['taskset', '--cpu-list', cpus];
}

function wordsIn(file: string): string {
  try {
    return lastWords(readEndSync(file));
  } catch {
    return '';
  }
}
