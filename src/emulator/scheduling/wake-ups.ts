import { openAlarm } from '#base/alarm.ts';
import type { Clock } from '#base/clock.ts';

/** Runs actions at given times of the clock, in order. */
export interface WakeUps {
  /**
   * Runs `action` once, at `dueNs` or as soon after it as the event loop allows. Returns a function
   * that cancels it.
   */
  at(dueNs: number, action: () => void): () => void;
  /** Drops all pending actions. */
  close(): Promise<void>;
}

interface Pending {
  readonly dueNs: number;
  readonly action: () => void;
}

/**
 * Wake-ups on the real event loop, accurate to tens of microseconds; a thread sleeps for them, so
 * that no core is kept busy.
 */
export function startWakeUps(clock: Clock): WakeUps {
  const pending: Pending[] = [];
  const alarm = openAlarm();
  let closed = false;
  let ticking = false;

  const arm = (): void => {
    if (ticking) return;
    const next = pending[0];
    if (!next || closed) alarm.clear();
    else alarm.set(next.dueNs - clock.nowNs(), tick);
  };

  const tick = (): void => {
    const nowNs = clock.nowNs();
    ticking = true;
    while (pending[0] && pending[0].dueNs <= nowNs) pending.shift()?.action();
    ticking = false;
    arm();
  };

  return {
    at(dueNs, action) {
      const entry = { dueNs, action };
      const later = pending.findIndex((other) => other.dueNs > dueNs);
      if (later < 0) pending.push(entry);
      else pending.splice(later, 0, entry);
      if (pending[0] === entry) arm();
      return () => {
        const index = pending.indexOf(entry);
        if (index >= 0) pending.splice(index, 1);
        if (pending.length === 0) alarm.clear();
      };
    },
    async close() {
      closed = true;
      pending.length = 0;
      await alarm.close();
    },
  };
}
