import { type ClientWatch, watchTogether } from '../client/cost.ts';
import type { NullProtocol, NullServer } from '../client/null-server.ts';
import type { Flow } from '../flow.ts';
import type { SendOrder } from '../sender.ts';
import type { RequestSet } from '../types.ts';
import type { LoadThread, ThreadGroup } from './load-thread.ts';
import { WorkerFlow } from './worker-flow.ts';

/** Threads that send together, each over connections of its own. They live, with their connections, until `close`. */
export interface Workers {
  /**
   * Sends the order, divided exactly over the threads; with `nullServer` (its `url`) to that, over connections that stay until
   * `leaveNullServer`. A flow starts when the one before is drained.
   */
  openFlow(order: SendOrder, nullServer?: string): Flow;
  leaveNullServer(): Promise<void>;
  /** A server that does nothing, beside the threads. Errors: LAUNCH_FAILED, AGENT_FAILED. */
  startNullServer(protocol: NullProtocol): Promise<NullServer>;
  /** Watches the threads: their CPU time together, the process's beside them, and of all else the thread that is worst off. */
  watchClient(): ClientWatch;
  close(): Promise<void>;
}

/** A thread more is not worth it for fewer requests. */
const LEAST_REQUESTS = 20;

/** Lets the threads of all groups, at least one, send together. Closing closes the groups. */
export function workersOf(groups: readonly [ThreadGroup, ...ThreadGroup[]]): Workers {
  const sets = new Map<RequestSet, number>();
  let flows = 0;
  let open: WorkerFlow[] = [];
  const numberOf = (requests: RequestSet): number => {
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
      const needed = Math.max(1, Math.min(sending, Math.floor(mostRequests / LEAST_REQUESTS)));
      open = open.filter((flow) => !flow.release());
      const flow = new WorkerFlow(threads.slice(0, needed), ++flows, numberOf(order.requests), order, nullServer);
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

/** The first of each group, then the second of each, and so on: whatever number of them sends is spread over the groups. */
function inTurn(groups: readonly (readonly LoadThread[])[]): readonly LoadThread[] {
  const most = Math.max(...groups.map(({ length }) => length));
  return Array.from({ length: most }, (_, index) => groups.flatMap((threads) => threads[index] ?? [])).flat();
}
