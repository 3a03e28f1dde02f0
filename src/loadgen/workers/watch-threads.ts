import { type ClientUse, type ClientWatch, knowsThreadCpu } from '../client/cost.ts';
import { hostCpuSince, readHostCpu } from '../client/host-cpu.ts';
import type { LoadThread } from './load-thread.ts';

type WorstOff = Exclude<keyof ClientUse, 'cpuUs' | 'besideShare' | 'host' | 'agents'>;

/**
 * Watches threads of this process: their total CPU time, that of the rest of the process, and
 * otherwise the worst thread.
 */
export function watchThreads(threads: readonly Pick<LoadThread, 'tell' | 'ask'>[]): ClientWatch {
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
