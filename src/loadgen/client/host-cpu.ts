import { readFileSync } from 'node:fs';

/** Counters of the machine that only grow, in milliseconds; a field is absent if the system lacks it. */
export interface HostCpu {
  /** CPU time that the host took from this virtual machine, summed over its CPUs. */
  readonly stolenMs?: number;
  /** Time in which something on this machine waited for a CPU. */
  readonly pressedMs?: number;
}

/** Linux counts in hundredths of a second here (`USER_HZ`), on every architecture. */
const MS_PER_TICK = 10;
const US_PER_MS = 1e3;

/** Reads `/proc/stat` and `/proc/pressure/cpu`. Never throws. */
export function readHostCpu(): HostCpu {
  return hostCpuOf(textOf('/proc/stat'), textOf('/proc/pressure/cpu'));
}

/** Reads the texts of the two files: the eighth figure of the line `cpu`, and `total` of the line `some`. */
export function hostCpuOf(stat: string, pressure: string): HostCpu {
  const ticks = /^cpu(?: +\d+){7} +(\d+)/m.exec(stat)?.[1];
  const pressedUs = /^some .*total=(\d+)/m.exec(pressure)?.[1];
  return {
    ...(ticks !== undefined && { stolenMs: Number(ticks) * MS_PER_TICK }),
    ...(pressedUs !== undefined && { pressedMs: Number(pressedUs) / US_PER_MS }),
  };
}

/** Returns the difference between two readings. */
export function hostCpuSince(before: HostCpu, after: HostCpu): HostCpu {
  const grown = (from?: number, to?: number): number | undefined =>
    from === undefined || to === undefined ? undefined : to - from;
  const stolenMs = grown(before.stolenMs, after.stolenMs);
  const pressedMs = grown(before.pressedMs, after.pressedMs);
  return { ...(stolenMs !== undefined && { stolenMs }), ...(pressedMs !== undefined && { pressedMs }) };
}

function textOf(path: string): string {
  try {
    return readFileSync(path, 'latin1');
  } catch {
    return '';
  }
}
