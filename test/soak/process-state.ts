import { readdirSync } from 'node:fs';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { realClock } from '#base/clock.ts';

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

const LOOKS = 8;
const LOOK_MS = 25;

/**
 * Reads it (Linux). It takes a while: what was just closed is let go of on later turns, the least
 * of some looks is what is held.
 */
export async function processState(): Promise<ProcessState> {
  let [descriptors, resources] = [Number.POSITIVE_INFINITY, Number.POSITIVE_INFINITY];
  for (let look = 0; look < LOOKS; look++) {
    await realClock.sleep(LOOK_MS);
    descriptors = Math.min(descriptors, readdirSync('/proc/self/fd').length);
    resources = Math.min(resources, process.getActiveResourcesInfo().length);
  }
  for (let turn = 0; turn < 3; turn++) {
    collect();
    await new Promise((next) => setImmediate(next));
  }
  const { heapUsed, external } = process.memoryUsage();
  const listeners = process.eventNames().reduce((sum, name) => sum + process.listenerCount(name), 0);
  return {
    heapBytes: heapUsed,
    externalBytes: external,
    descriptors,
    threads: readdirSync('/proc/self/task').length,
    listeners,
    resources,
  };
}

/** The middle value, which a single odd sample does not move. */
export function median(values: readonly number[]): number {
  const sorted = [...values].sort((one, other) => one - other);
  return sorted[Math.floor(sorted.length / 2)] ?? Number.NaN;
}

/** The first, which is warm-up, the middle and the last. */
export function thirds<T>(values: readonly T[]): readonly [T[], T[], T[]] {
  const third = Math.floor(values.length / 3);
  return [values.slice(0, third), values.slice(third, 2 * third), values.slice(2 * third)];
}

/** By how much the last third is above the middle one, in the median. */
export function growth(values: readonly number[]): number {
  const [, middle, last] = thirds(values);
  return median(last) - median(middle);
}
