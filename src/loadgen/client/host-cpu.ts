import { readFileSync } from 'node:fs';

/**
 * Counters of the machine that only grow, in milliseconds; a field is absent if the system lacks
 * it.
 */
export interface HostCpu {
  /** CPU time that the host took from this virtual machine, summed over its CPUs. */
  readonly stolenMs?: number;
  /** Time in which something on this machine waited for a CPU. */
  readonly pressedMs?: number;
  /** Time of all CPUs together, and the part of it in which they had nothing to do. */
  readonly allMs?: number;
  readonly idleMs?: number;
}

/** Linux counts in hundredths of a second here (`USER_HZ`), on every architecture. */
const MS_PER_TICK = 10;
const US_PER_MS = 1e3;

/** Reads `/proc/stat` and `/proc/pressure/cpu`. Never throws. */
export function readHostCpu(): HostCpu {
  return parseHostCpu(readProcFile('/proc/stat'), readProcFile('/proc/pressure/cpu'));
}

/**
 * Reads the texts of the two files: eight figures of the line `cpu` (user, nice, system, idle,
 * iowait, irq, softirq, steal), and `total` of `some`.
 */
export function parseHostCpu(stat: string, pressure: string): HostCpu {
  const line = /^cpu((?: +\d+){8})/m.exec(stat)?.[1];
  const ticks = line?.trim().split(/ +/).map(Number);
  const pressedUs = /^some .*total=(\d+)/m.exec(pressure)?.[1];
  const [, , , idle = 0, waiting = 0, , , stolen = 0] = ticks ?? [];
  return {
    ...(ticks && {
      stolenMs: stolen * MS_PER_TICK,
      allMs: ticks.reduce((sum, each) => sum + each, 0) * MS_PER_TICK,
      idleMs: (idle + waiting) * MS_PER_TICK,
    }),
    ...(pressedUs !== undefined && { pressedMs: Number(pressedUs) / US_PER_MS }),
  };
}

/** Returns whether this system tells what its CPUs do, as only Linux does. */
export const hasProcFiles = (): boolean => readHostCpu().allMs !== undefined;

/** Returns the difference between two readings. */
export function hostCpuSince(before: HostCpu, after: HostCpu): HostCpu {
  const grown = COUNTERS.flatMap((name) => {
    const [from, to] = [before[name], after[name]];
    return from === undefined || to === undefined ? [] : [[name, to - from] as const];
  });
  return Object.fromEntries(grown);
}

const COUNTERS = ['stolenMs', 'pressedMs', 'allMs', 'idleMs'] as const satisfies readonly (keyof HostCpu)[];

/** Returns the share of the time in which the machine's CPUs were busy; null if unknown. */
export const computeBusyShare = ({ allMs, idleMs }: HostCpu): number | null =>
  allMs === undefined || idleMs === undefined || allMs <= 0 ? null : 1 - idleMs / allMs;

function readProcFile(path: string): string {
  try {
    return readFileSync(path, 'latin1');
  } catch {
    return '';
  }
}
