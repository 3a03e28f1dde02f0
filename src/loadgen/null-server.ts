import { fork } from 'node:child_process';
import { once } from 'node:events';
import { extname, join } from 'node:path';
import { withDeadline } from '../base/abort.ts';
import { TrituneError } from '../base/errors.ts';

const START_TIMEOUT_MS = 5000;

const processFile = join(import.meta.dirname, `null-server-process${extname(import.meta.filename)}`);

export interface NullServer {
  /** HOST:PORT */
  readonly url: string;
  stop(): void;
}

/**
 * A server in a process of its own that answers every inference with the same few bytes and does next to nothing else, so
 * that a client is what limits the traffic to it. It ends with us, however we end. Errors: LAUNCH_FAILED.
 */
export async function startNullServer(protocol: 'grpc' | 'http'): Promise<NullServer> {
  const child = fork(processFile, [protocol], { stdio: 'ignore', execArgv: [] });
  const failed = once(child, 'exit').then(() => Promise.reject(notStarted()));
  try {
    const started = Promise.race([once(child, 'message'), failed]);
    const [port] = (await withDeadline(started, START_TIMEOUT_MS, notStarted)) as [number];
    failed.catch(() => undefined);
    return { url: `127.0.0.1:${port}`, stop: () => child.kill() };
  } catch (error) {
    child.kill();
    throw error;
  }
}

const notStarted = (): TrituneError =>
  new TrituneError('LAUNCH_FAILED', 'the null server did not start', 'see whether this machine is overloaded');
