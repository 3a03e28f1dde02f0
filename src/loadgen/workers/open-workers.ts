import type { WorkerOptions } from 'node:worker_threads';
import type { ClientUse, ClientWatch } from '../client-cost.ts';
import type { Flow } from '../flow.ts';
import type { SendOrder } from '../sender.ts';
import type { RequestSet } from '../types.ts';
import { clockZeroNs } from './clock-zero.ts';
import type { WorkerTransport } from './messages.ts';
import { Thread } from './thread.ts';
import { WorkerFlow } from './worker-flow.ts';

/** Threads that send together, each over connections of its own. They live, with their connections, until `close`. */
export interface Workers {
  /** Sends the order, divided exactly over the threads. A flow starts when the one before is drained. */
  openFlow(order: SendOrder): Flow;
  /** Watches the threads: the process's CPU time, and of all else the thread that is worst off. */
  watchClient(): ClientWatch;
  close(): Promise<void>;
}

/** A thread more is not worth it for fewer requests. */
const LEAST_REQUESTS = 20;

/** Starts the threads. What goes wrong in one is told by the flow. `worker`: how they run, for tests of threads that die. */
export function openWorkers(count: number, transport: WorkerTransport, worker: WorkerOptions = {}): Workers {
  const zeroNs = clockZeroNs();
  const threads = Array.from(
    { length: count },
    (_, index) => new Thread({ transport, clockZeroNs: zeroNs, part: { index, of: count } }, worker),
  );
  const sets = new Map<RequestSet, number>();
  let flows = 0;
  let open: WorkerFlow[] = [];
  const numberOf = (requests: RequestSet): number => {
    const known = sets.get(requests);
    if (known !== undefined) return known;
    const set = sets.size;
    sets.set(requests, set);
    for (const thread of threads) thread.tell({ type: 'requests', set, requests });
    return set;
  };
  return {
    openFlow(order) {
      const { level, mostRequests = Number.POSITIVE_INFINITY } = order;
      const sending = level.mode === 'concurrency' ? Math.min(level.value, count) : count;
      const needed = Math.max(1, Math.min(sending, Math.floor(mostRequests / LEAST_REQUESTS)));
      open = open.filter((flow) => !flow.release());
      const flow = new WorkerFlow(threads.slice(0, needed), ++flows, numberOf(order.requests), order);
      open.push(flow);
      return flow;
    },
    watchClient: () => watchThreads(threads),
    async close() {
      await Promise.all(threads.map((thread) => thread.close()));
    },
  };
}

function watchThreads(threads: readonly Thread[]): ClientWatch {
  let before = process.cpuUsage();
  return {
    restart() {
      before = process.cpuUsage();
      for (const thread of threads) thread.tell({ type: 'restart-watch' });
    },
    async read() {
      const { user, system } = process.cpuUsage(before);
      const uses = await Promise.all(threads.map((thread) => thread.ask('read-watch', {})));
      const worst = (field: keyof ClientUse): number => Math.max(...uses.map((use) => use[field]));
      return {
        cpuUs: user + system,
        cpuShare: worst('cpuShare'),
        loopShare: worst('loopShare'),
        longestDelayMs: worst('longestDelayMs'),
        medianDelayMs: worst('medianDelayMs'),
      };
    },
    stop: () => undefined,
  };
}
