import type { Clock } from '../base/clock.ts';
import { NS_PER_MS } from '../base/units.ts';

/** Runs actions at given times of the clock, in order. */
export interface WakeUps {
  /** Runs `action` once, at `dueNs` or as soon after it as the event loop allows. Gives back what cancels it. */
  at(dueNs: number, action: () => void): () => void;
  /** Drops everything that is pending. */
  close(): void;
}

interface Pending {
  readonly dueNs: number;
  readonly action: () => void;
}

/** Node's timers are good to about a millisecond each way; closer than this the event loop is polled instead. */
const POLL_WITHIN_NS = 2 * NS_PER_MS;

/**
 * Wake-ups on the real event loop, precise to tens of microseconds: a timer for most of the wait, then a turn of the
 * loop at a time. The loop turns without rest only while something is due within two milliseconds.
 */
export function startWakeUps(clock: Clock): WakeUps {
  const pending: Pending[] = [];
  let timer: NodeJS.Timeout | undefined;
  let turn: NodeJS.Immediate | undefined;
  let closed = false;

  const disarm = (): void => {
    clearTimeout(timer);
    clearImmediate(turn);
    timer = undefined;
    turn = undefined;
  };

  const arm = (): void => {
    disarm();
    const next = pending[0];
    if (!next || closed) return;
    const waitNs = next.dueNs - clock.nowNs();
    if (waitNs > POLL_WITHIN_NS) timer = setTimeout(tick, Math.floor(waitNs / NS_PER_MS) - 1);
    else turn = setImmediate(tick);
  };

  const tick = (): void => {
    const nowNs = clock.nowNs();
    while (pending[0] && pending[0].dueNs <= nowNs) pending.shift()?.action();
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
        if (pending.length === 0) disarm();
      };
    },
    close() {
      closed = true;
      pending.length = 0;
      disarm();
    },
  };
}
