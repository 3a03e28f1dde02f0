import { monitorEventLoopDelay } from 'node:perf_hooks';
import { NS_PER_MS } from '../../base/units.ts';
import type { HostCpu } from './host-cpu.ts';

const RESOLUTION_MS = 5;

/** Resources of the load generator from `restart` to `read`. */
export interface ClientUse {
  /** CPU time of this process, or of the threads that send where that is known, in microseconds. */
  readonly cpuUs: number;
  /** CPU time of the process beside those threads, over the time that passed: 1 is one core. Absent where a thread's is not known. */
  readonly besideShare?: number;
  /** Growth of the machine's counters; absent where they were not read. */
  readonly host?: HostCpu;
  /** CPU time over the time that passed: 1 is one core. */
  readonly cpuShare: number;
  /** The share of the time in which the event loop had something to do; waiting for a CPU counts. */
  readonly loopShare: number;
  /** The longest that the event loop kept a due timer waiting, and what half of them waited, in milliseconds. */
  readonly longestDelayMs: number;
  readonly medianDelayMs: number;
  /** The same of each agent, where agents send. */
  readonly agents?: readonly AgentUse[];
}

/** One agent from `restart` to `read`. */
export interface AgentUse {
  /** HOST:PORT */
  readonly address: string;
  /** Version of tritune. */
  readonly version: string;
  /** Cores that its process may use, and threads that send. */
  readonly cores: number;
  readonly threads: number;
  readonly clock: AgentClock;
  readonly use: Omit<ClientUse, 'agents'>;
}

/** The clock of an agent beside this machine's, in nanoseconds. */
export interface AgentClock {
  /** How far its time of day was ahead of this machine's at `restart`, and how far that may be off, both ways. */
  readonly offsetNs: number;
  readonly uncertaintyNs: number;
  /** How far it had gone further ahead at `read`, and how far that may be off. */
  readonly driftNs: number;
  readonly driftUncertaintyNs: number;
}

/** From Node 23.9 on; before, a thread knows only what the whole process took. */
export const knowsThreadCpu = 'threadCpuUsage' in process;

export interface ClientWatch {
  /** Counts anew from now on. */
  restart(): void;
  read(): ClientUse | Promise<ClientUse>;
  stop(): void;
}

/** Watches all of them as one: their CPU time together, and of all else the one that is worst off. What the process takes beside them is not known. */
export function watchTogether(watches: readonly ClientWatch[]): ClientWatch {
  return {
    restart() {
      for (const watch of watches) watch.restart();
    },
    async read() {
      const uses = await Promise.all(watches.map((watch) => watch.read()));
      const worst = (of: (use: ClientUse) => number): number => Math.max(...uses.map(of));
      const host = uses.find((use) => use.host)?.host;
      const agents = allAgents(uses.flatMap((use) => use.agents ?? []));
      return {
        cpuUs: uses.reduce((sum, { cpuUs }) => sum + cpuUs, 0),
        ...(host && { host }),
        cpuShare: worst(({ cpuShare }) => cpuShare),
        loopShare: worst(({ loopShare }) => loopShare),
        longestDelayMs: worst(({ longestDelayMs }) => longestDelayMs),
        medianDelayMs: worst(({ medianDelayMs }) => medianDelayMs),
        ...(agents.length > 0 && { agents }),
      };
    },
    stop() {
      for (const watch of watches) watch.stop();
    },
  };
}

/** One row for each agent. One that sends to several models has threads for each: it is as badly off as the worst of them. */
function allAgents(rows: readonly AgentUse[]): readonly AgentUse[] {
  const agents = new Map<string, AgentUse>();
  for (const row of rows) {
    const before = agents.get(row.address);
    agents.set(row.address, before ? bothOf(before, row) : row);
  }
  return [...agents.values()];
}

const bothOf = (one: AgentUse, other: AgentUse): AgentUse => ({
  ...(one.clock.uncertaintyNs <= other.clock.uncertaintyNs ? one : other),
  threads: one.threads + other.threads,
  use: {
    ...one.use,
    cpuUs: one.use.cpuUs + other.use.cpuUs,
    cpuShare: Math.max(one.use.cpuShare, other.use.cpuShare),
    loopShare: Math.max(one.use.loopShare, other.use.loopShare),
    longestDelayMs: Math.max(one.use.longestDelayMs, other.use.longestDelayMs),
    medianDelayMs: Math.max(one.use.medianDelayMs, other.use.medianDelayMs),
  },
});

/** Watches this process and this thread's event loop. */
export function watchClient(): ClientWatch {
  return watchLoop((since) => process.cpuUsage(since), 1);
}

/** Watches this thread, one of several that do the same. */
export function watchThread(threads: number): ClientWatch {
  // Where only the process's is known, each thread's share is taken to be an even one.
  return knowsThreadCpu
    ? watchLoop((since) => process.threadCpuUsage(since), 1)
    : watchLoop((since) => process.cpuUsage(since), threads);
}

function watchLoop(cpuUsage: (since?: NodeJS.CpuUsage) => NodeJS.CpuUsage, sharers: number): ClientWatch {
  const delays = monitorEventLoopDelay({ resolution: RESOLUTION_MS });
  delays.enable();
  // Node reports the time between two ticks of its own timer, the timer's interval included.
  const delayMs = (ns: number): number => (delays.count === 0 ? 0 : Math.max(0, ns / NS_PER_MS - RESOLUTION_MS));
  let cpuBefore = cpuUsage();
  let startMs = performance.now();
  let loopBefore = performance.eventLoopUtilization();
  return {
    restart() {
      delays.reset();
      cpuBefore = cpuUsage();
      startMs = performance.now();
      loopBefore = performance.eventLoopUtilization();
    },
    read() {
      const used = cpuUsage(cpuBefore);
      const cpuUs = (used.user + used.system) / sharers;
      return {
        cpuUs,
        cpuShare: cpuUs / 1e3 / Math.max(performance.now() - startMs, 1),
        loopShare: performance.eventLoopUtilization(loopBefore).utilization,
        longestDelayMs: delayMs(delays.max),
        medianDelayMs: delayMs(delays.percentile(50)),
      };
    },
    stop() {
      delays.disable();
    },
  };
}
