import type { WorkerOptions } from 'node:worker_threads';
import { startNullServer } from '../client/null-server.ts';
import type { RequestSet } from '../types.ts';
import { clockZeroNs } from './clock-zero.ts';
import type { SendingLimits, WorkerTransport } from './messages.ts';
import { type OnObserved, tellObserved } from './observed-requests.ts';
import { Thread } from './thread.ts';
import { watchThreads } from './watch-threads.ts';
import { joinWorkers, type Workers } from './workers.ts';

/**
 * Starts threads of this process. The flow reports errors in a thread. `worker`: how they run, for
 * tests of threads that die. `onObserved` is called for every finished request if the transport
 * observes.
 */
export function openWorkers(
  count: number,
  transport: WorkerTransport,
  worker: WorkerOptions = {},
  onObserved: OnObserved = () => undefined,
): Workers {
  const threads = startThreads(count, transport, worker);
  const known: RequestSet[] = [];
  for (const thread of threads) thread.onObserved = (requests) => tellObserved(requests, known, onObserved);
  return joinWorkers([
    {
      threads: () => threads,
      learn(set, requests) {
        if (known[set] !== undefined) return;
        known[set] = requests;
        for (const thread of threads) thread.tell({ type: 'requests', set, requests });
      },
      watch: () => watchThreads(threads),
      startNullServer,
      async close() {
        await Promise.all(threads.map((thread) => thread.close()));
      },
    },
  ]);
}

/** Starts this many threads on this thread's clock, each within its limits. */
export function startThreads(
  count: number,
  transport: WorkerTransport,
  worker: WorkerOptions = {},
  limits: readonly SendingLimits[] = [],
): readonly Thread[] {
  const zeroNs = clockZeroNs();
  return Array.from(
    { length: count },
    (_, index) =>
      new Thread({ transport, clockZeroNs: zeroNs, part: { index, of: count }, limits: limits[index] }, worker),
  );
}
