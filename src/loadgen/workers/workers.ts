import { type ClientWatch, watchTogether } from '../client/cost.ts';
import type { NullProtocol, NullServer } from '../client/null-server.ts';
import type { Flow } from '../flow.ts';
import type { SendOrder } from '../sender.ts';
import type { RequestSet } from '../types.ts';
import type { LoadThread, ThreadGroup } from './load-thread.ts';
import { WorkerFlow } from './worker-flow.ts';

/**
 * Threads that send together, each over its own connections. They live, with their connections,
 * until `close`.
 */
export interface Workers {
  /**
   * Sends the order, divided exactly over the threads. With `nullServer` (its `url`) it goes there,
   * over connections that stay until `leaveNullServer`. A flow starts once the previous one is
   * drained.
   */
  openFlow(order: SendOrder, nullServer?: string): Flow;
  leaveNullServer(): Promise<void>;
  /**
   * Starts a server that does nothing on the machine of the threads. Errors: LAUNCH_FAILED,
   * AGENT_FAILED.
   */
  startNullServer(protocol: NullProtocol): Promise<NullServer>;
  /**
   * Watches the threads: their total CPU time, that of the rest of the process, and otherwise the
   * worst thread.
   */
  watchClient(): ClientWatch;
  close(): Promise<void>;
}

/** An additional thread is not worthwhile for fewer requests. */
const MIN_REQUESTS = 20;

/**
 * Makes the threads of all groups send together; needs at least one group. Closing it closes the
 * groups.
 */
export function joinWorkers(groups: readonly [ThreadGroup, ...ThreadGroup[]]): Workers {
  const sets = new Map<RequestSet, number>();
  let flows = 0;
  let open: WorkerFlow[] = [];
  const numberRequests = (requests: RequestSet): number => {
    const set = sets.get(requests) ?? sets.size;
    sets.set(requests, set);
    for (const group of groups) group.learn(set, requests);
    return set;
  };
  return {
    openFlow(order, nullServer) {
      const { level, mostRequests = Number.POSITIVE_INFINITY } = order;
      const threads = inTurn(groups.map((group) => group.threads()));
      const count = threads.length;
      const sending = level.mode === 'concurrency' ? Math.min(level.value, count) : count;
      const needed = Math.max(1, Math.min(sending, Math.floor(mostRequests / MIN_REQUESTS)));
      open = open.filter((flow) => !flow.release());
      const flow = new WorkerFlow(threads.slice(0, needed), ++flows, numberRequests(order.requests), order, nullServer);
      open.push(flow);
      return flow;
    },
    async leaveNullServer() {
      await Promise.all(
        groups.flatMap((group) => group.threads()).map((thread) => thread.ask('leave-null-server', {})),
      );
    },
    async startNullServer(protocol) {
      const started = await Promise.allSettled(groups.map((group) => group.startNullServer(protocol)));
      const servers = started.flatMap((each) => (each.status === 'fulfilled' ? [each.value] : []));
      const stop = async (): Promise<void> => {
        await Promise.all(servers.map((server) => server.stop()));
      };
      const failed = started.find((each) => each.status === 'rejected');
      if (failed) {
        await stop();
        throw failed.reason;
      }
      return { url: (servers[0] as NullServer).url, stop };
    },
    watchClient() {
      const [only, ...more] = groups.map((group) => group.watch()) as [ClientWatch, ...ClientWatch[]];
      return more.length === 0 ? only : watchTogether([only, ...more]);
    },
    async close() {
      await Promise.all(groups.map((group) => group.close()));
    },
  };
}

/**
 * The first thread of each group, then the second of each, and so on: any number of threads is
 * spread over the groups.
 */
function inTurn(groups: readonly (readonly LoadThread[])[]): readonly LoadThread[] {
  const most = Math.max(...groups.map(({ length }) => length));
  return Array.from({ length: most }, (_, index) => groups.flatMap((threads) => threads[index] ?? [])).flat();
}
