import { monitorEventLoopDelay } from 'node:perf_hooks';
import { NS_PER_MS } from '#base/units.ts';
import type { HostCpu } from './host-cpu.ts';

const RESOLUTION_MS = 5;

/** Resources of the load generator from `restart` to `read`. */
export interface ClientUse {
  /** CPU microseconds of the sending threads if known, else of this process. */
  readonly cpuUs: number;
  /**
   * CPU time of the process except those threads, per elapsed time: 1 is one core. Absent if the
   * threads' CPU time is unknown.
   */
  readonly besideShare?: number;
  /** Growth of the machine's counters; absent if they were not read. */
  readonly host?: HostCpu;
  /** CPU time per elapsed time: 1 is one core. */
  readonly cpuShare: number;
  /**
   * The share of the time in which the event loop had something to do; waiting for a CPU counts.
   */
  readonly loopShare: number;
  /** The longest and the median delay of a due timer by the event loop, in milliseconds. */
  readonly longestDelayMs: number;
  readonly medianDelayMs: number;
  /** The same for each agent, if agents send. */
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

/** An agent's clock relative to this machine's, in nanoseconds. */
export interface AgentClock {
  /**
   * How far its time of day was ahead of this machine's at `restart`, and the uncertainty of that,
   * in both directions.
   */
  readonly offsetNs: number;
  readonly uncertaintyNs: number;
  /** How much further ahead it was at `read`, and the uncertainty of that. */
  readonly driftNs: number;
  readonly driftUncertaintyNs: number;
}

/** From Node 23.9 on; before that, a thread knows only the CPU time of the whole process. */
export const knowsThreadCpu = 'threadCpuUsage' in process;

export interface ClientWatch {
  /** Restarts counting now. */
  restart(): void;
  read(): ClientUse | Promise<ClientUse>;
  stop(): void;
}

/**
 * Watches all of them as one: their total CPU time, and the worst value of everything else. The CPU
 * time of the rest of the process is unknown.
 */
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

/**
 * Returns one row per agent. An agent that sends to several models has threads for each, and counts
 * as badly off as the worst of them.
 */
function allAgents(rows: readonly AgentUse[]): readonly AgentUse[] {
  const agents = new Map<string, AgentUse>();
  for (const row of rows) {
    const before = agents.get(row.address);
    agents.set(row.address, before ? addBoth(before, row) : row);
  }
  return [...agents.values()];
}

const addBoth = (one: AgentUse, other: AgentUse): AgentUse => ({
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
  // If only the CPU time of the process is known, each thread is assumed to have an equal share.
  return knowsThreadCpu
    ? watchLoop((since) => process.threadCpuUsage(since), 1)
    : watchLoop((since) => process.cpuUsage(since), threads);
}

function watchLoop(cpuUsage: (since?: NodeJS.CpuUsage) => NodeJS.CpuUsage, sharers: number): ClientWatch {
  const delays = monitorEventLoopDelay({ resolution: RESOLUTION_MS });
  delays.enable();
  // Node reports the time between two ticks of its own timer, including the timer's interval.
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
