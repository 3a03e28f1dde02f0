import { openSync, readSync } from 'node:fs';
import { type PerformanceEntry, PerformanceObserver } from 'node:perf_hooks';
import { NS_PER_MS, nsToMs } from '#base/units.ts';
import type { HeldUp } from '../client/held-up.ts';
import { PauseLog } from './pause-log.ts';

/** Watches delays of this thread, from its creation to `stop`. */
export interface PauseWatch {
  /** Returns the delays since the last call. */
  take(): HeldUp;
  stop(): void;
}

/**
 * Watches with a timer of `periodNs`, the engine's reports of garbage collections, and the kernel's
 * count of the time in which the thread was runnable but had no CPU. `shiftNs`: from this thread's
 * time to that of the pauses.
 */
export function watchPauses(periodNs: number, shiftNs: number): PauseWatch {
  const nowNs = (): number => performance.now() * NS_PER_MS + shiftNs;
  const log = new PauseLog(periodNs, nowNs());
  const timer = setInterval(() => log.tick(nowNs()), nsToMs(periodNs));
  const note = (entries: readonly PerformanceEntry[]): void => {
    for (const { startTime, duration } of entries) log.collected(startTime * NS_PER_MS + shiftNs, duration * NS_PER_MS);
  };
  const collections = new PerformanceObserver((list) => note(list.getEntries()));
  collections.observe({ entryTypes: ['gc'] });
  let waitedNs = threadWaitNs();
  return {
    take() {
      note(collections.takeRecords());
      const before = waitedNs;
      waitedNs = threadWaitNs();
      const runQueueNs = before === null || waitedNs === null ? null : waitedNs - before;
      return { pauses: log.take(nowNs()), runQueueNs, threads: 1 };
    },
    stop() {
      clearInterval(timer);
      collections.disconnect();
    },
  };
}

/** Returns this thread's watch; what a thread opened is closed at its end. */
let schedule: number | undefined;
const text = Buffer.alloc(128);

/**
 * Returns how long this thread has waited for a CPU since it began, from Linux's `schedstat`; null
 * elsewhere.
 */
function threadWaitNs(): number | null {
  try {
    schedule ??= openSync('/proc/thread-self/schedstat', 'r');
    const length = readSync(schedule, text, 0, text.length, 0);
    const waitedNs = Number(text.toString('latin1', 0, length).split(' ')[1]);
    return Number.isFinite(waitedNs) ? waitedNs : null;
  } catch {
    return null;
  }
}
