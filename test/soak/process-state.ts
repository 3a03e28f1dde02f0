import { readdirSync } from 'node:fs';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';

setFlagsFromString('--expose-gc');
const collect = runInNewContext('gc') as () => void;

/** What this process holds at a moment, after its garbage was collected. */
export interface ProcessState {
  readonly heapBytes: number;
  /** Outside the heap: buffers. */
  readonly externalBytes: number;
  readonly descriptors: number;
  /** Of the operating system: those of workers, too. */
  readonly threads: number;
  /** On the process, of all events. */
  readonly listeners: number;
  /** Timers, sockets and the like that keep the process alive. */
  readonly resources: number;
}

/** Reads it (Linux). Asynchronous, as what was just closed is let go of on later turns. */
export async function processState(): Promise<ProcessState> {
  for (let turn = 0; turn < 3; turn++) {
    await new Promise((next) => setImmediate(next));
    collect();
  }
  const { heapUsed, external } = process.memoryUsage();
  const listeners = process.eventNames().reduce((sum, name) => sum + process.listenerCount(name), 0);
  return {
    heapBytes: heapUsed,
    externalBytes: external,
    descriptors: readdirSync('/proc/self/fd').length,
    threads: readdirSync('/proc/self/task').length,
    listeners,
    resources: process.getActiveResourcesInfo().length,
  };
}

/** The middle value, which a single odd sample does not move. */
export function median(values: readonly number[]): number {
  const sorted = [...values].sort((one, other) => one - other);
  return sorted[Math.floor(sorted.length / 2)] ?? Number.NaN;
}

/** By how much the last third is above the middle one, in the median; the first is warm-up. */
export function growth(values: readonly number[]): number {
  const third = Math.floor(values.length / 3);
  return median(values.slice(2 * third)) - median(values.slice(third, 2 * third));
}
