import type { WorkerOptions } from 'node:worker_threads';
import { type ClientUse, type ClientWatch, knowsThreadCpu } from '../client/cost.ts';
import { hostCpuSince, readHostCpu } from '../client/host-cpu.ts';
import type { Flow } from '../flow.ts';
import type { SendOrder } from '../sender.ts';
import type { RequestSet } from '../types.ts';
import { clockZeroNs } from './clock-zero.ts';
import type { WorkerTransport } from './messages.ts';
import { type OnObserved, tellObserved } from './observed-requests.ts';
import { Thread } from './thread.ts';
import { WorkerFlow } from './worker-flow.ts';

/** Threads that send together, each over connections of its own. They live, with their connections, until `close`. */
export interface Workers {
  /**
   * Sends the order, divided exactly over the threads; with `nullServer` (HOST:PORT) to that, over connections that stay until
   * `leaveNullServer`. A flow starts when the one before is drained.
   */
  openFlow(order: SendOrder, nullServer?: string): Flow;
  leaveNullServer(): Promise<void>;
  /** Watches the threads: their CPU time together, the process's beside them, and of all else the thread that is worst off. */
  watchClient(): ClientWatch;
  close(): Promise<void>;
}

/** A thread more is not worth it for fewer requests. */
const LEAST_REQUESTS = 20;

/**
 * Starts the threads. What goes wrong in one is told by the flow. `worker`: how they run, for tests of threads that die;
 * `onObserved` is told of every request that ends, if the transport observes.
 */
export function openWorkers(
  count: number,
  transport: WorkerTransport,
  worker: WorkerOptions = {},
  onObserved: OnObserved = () => undefined,
): Workers {
  const zeroNs = clockZeroNs();
  const threads = Array.from(
    { length: count },
    (_, index) => new Thread({ transport, clockZeroNs: zeroNs, part: { index, of: count } }, worker),
  );
  const sets = new Map<RequestSet, number>();
  const inOrder: RequestSet[] = [];
  for (const thread of threads) thread.onObserved = (requests) => tellObserved(requests, inOrder, onObserved);
  let flows = 0;
  let open: WorkerFlow[] = [];
  const numberOf = (requests: RequestSet): number => {
    const known = sets.get(requests);
    if (known !== undefined) return known;
    const set = sets.size;
    sets.set(requests, set);
    inOrder.push(requests);
    for (const thread of threads) thread.tell({ type: 'requests', set, requests });
    return set;
  };
  return {
    openFlow(order, nullServer) {
      const { level, mostRequests = Number.POSITIVE_INFINITY } = order;
      const sending = level.mode === 'concurrency' ? Math.min(level.value, count) : count;
      const needed = Math.max(1, Math.min(sending, Math.floor(mostRequests / LEAST_REQUESTS)));
      open = open.filter((flow) => !flow.release());
      const flow = new WorkerFlow(threads.slice(0, needed), ++flows, numberOf(order.requests), order, nullServer);
      open.push(flow);
      return flow;
    },
    async leaveNullServer() {
      await Promise.all(threads.map((thread) => thread.ask('leave-null-server', {})));
    },
    watchClient: () => watchThreads(threads),
    async close() {
      await Promise.all(threads.map((thread) => thread.close()));
    },
  };
}

type WorstOff = Exclude<keyof ClientUse, 'cpuUs' | 'besideShare' | 'host'>;

function watchThreads(threads: readonly Thread[]): ClientWatch {
  let before = process.cpuUsage();
  let startMs = performance.now();
  let hostBefore = readHostCpu();
  return {
    restart() {
      before = process.cpuUsage();
      hostBefore = readHostCpu();
      startMs = performance.now();
      for (const thread of threads) thread.tell({ type: 'restart-watch' });
    },
    async read() {
      const { user, system } = process.cpuUsage(before);
      const tookMs = Math.max(performance.now() - startMs, 1);
      const host = hostCpuSince(hostBefore, readHostCpu());
      const uses = await Promise.all(threads.map((thread) => thread.ask('read-watch', {})));
      const worst = (field: WorstOff): number => Math.max(...uses.map((use) => use[field]));
      const sendingUs = uses.reduce((sum, { cpuUs }) => sum + cpuUs, 0);
      return {
        cpuUs: knowsThreadCpu ? sendingUs : user + system,
        ...(knowsThreadCpu && { besideShare: Math.max(0, user + system - sendingUs) / 1e3 / tookMs }),
        host,
        cpuShare: worst('cpuShare'),
        loopShare: worst('loopShare'),
        longestDelayMs: worst('longestDelayMs'),
        medianDelayMs: worst('medianDelayMs'),
      };
    },
    stop: () => undefined,
  };
}
