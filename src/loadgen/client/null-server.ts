import { once } from 'node:events';
import { Worker, type WorkerOptions } from 'node:worker_threads';
import { withDeadline } from '#base/abort.ts';
import { TrituneError } from '#base/errors.ts';
import { entryPath } from '#base/package.ts';

const START_TIMEOUT_MS = 5000;

const threadFile = entryPath('loadgen/client/null-server-thread');

/**
 * With `grpc-stream` every message of a stream gets an answer on the stream; with `grpc-text` the
 * answers have some text before the end. `events` is HTTP with streams of server-sent events.
 */
export type NullProtocol = 'grpc' | 'grpc-stream' | 'grpc-text' | 'http' | 'events';

export interface NullServer {
  /** HOST:PORT */
  readonly url: string;
  stop(): Promise<void>;
}

/**
 * A server in its own thread that answers every inference with the same few bytes and does almost
 * nothing else, so that the client limits the traffic. `worker`: how its thread runs, for tests of
 * threads that die. Errors: LAUNCH_FAILED.
 */
export async function startNullServer(protocol: NullProtocol, worker: WorkerOptions = {}): Promise<NullServer> {
  const thread = new Worker(threadFile, { ...worker, workerData: protocol });
  // If it dies later, its requests fail, which is enough. Without a listener, its error would end
  // the whole process.
  thread.on('error', () => undefined);
  const stop = async (): Promise<void> => {
    await thread.terminate();
  };
  try {
    const [port] = (await withDeadline(once(thread, 'message'), START_TIMEOUT_MS, notStarted)) as [number];
    return { url: `127.0.0.1:${port}`, stop };
  } catch (error) {
    await stop();
    throw error;
  }
}

const notStarted = (): TrituneError =>
  new TrituneError('LAUNCH_FAILED', 'the null server did not start', 'check whether this machine is overloaded');
