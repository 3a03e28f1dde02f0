import { Worker } from 'node:worker_threads';
import type { Clock } from './clock.ts';
import { entryPath } from './package.ts';
import { NS_PER_MS } from './units.ts';

/** Wakes one sleeper at a time. */
export interface Alarm {
  /**
   * Calls `ring` once, after `ns` and as soon as possible then, never from within this call;
   * replaces an earlier request.
   */
  set(ns: number, ring: () => void): void;
  /** Cancels the pending request. */
  clear(): void;
}

export interface PreciseAlarm extends Alarm {
  /** Ends its thread. */
  close(): Promise<void>;
}

/**
 * The thread is asked to wake us this long before the time, and the rest of the wait is spent
 * turning the event loop. The wake-up time of machines differs by a factor of ten, so the lead is
 * learned: it settles where one wake-up in `PATIENCE` + 1 comes too late.
 */
const FIRST_LEAD_NS = 1e5;
const LONGEST_LEAD_NS = 5e5;
const LEAD_STEP_NS = 5e3;
const PATIENCE = 4;
/** Without the thread there are only timers, which are accurate to a millisecond or two. */
const TURN_WITHIN_WITHOUT_THREAD_NS = 2 * NS_PER_MS;

const threadFile = entryPath('base/alarm-thread');

/**
 * Opens an alarm that is accurate to about ten microseconds. Node's timers count whole
 * milliseconds, and turning the event loop for the rest of each wait would take a whole core,
 * perhaps from the server under measurement. So a thread sleeps for us.
 */
export function openAlarm(): PreciseAlarm {
  return new ThreadAlarm();
}

/** Returns an alarm as precise as the clock's `sleep`; for virtual time. */
export function sleepingAlarm(clock: Clock): Alarm {
  let sleeping = new AbortController();
  const clear = (): void => {
    sleeping.abort();
    sleeping = new AbortController();
  };
  const set = (ns: number, ring: () => void): void => {
    clear();
    clock.sleep(Math.max(ns, 0) / NS_PER_MS, sleeping.signal).then(ring, () => undefined);
  };
  return { set, clear };
}

/** Returns the next lead after a wake-up with this one that came so late; early if below 0. */
export function learnedLeadNs(leadNs: number, lateNs: number): number {
  // No lead makes up for that: other programs had the core, and would have even less of it if we
  // turned the event loop for longer.
  if (lateNs > LONGEST_LEAD_NS) return leadNs;
  const change = lateNs > 0 ? PATIENCE * LEAD_STEP_NS : -LEAD_STEP_NS;
  return Math.min(Math.max(leadNs + change, LEAD_STEP_NS), LONGEST_LEAD_NS);
}

const nowNs = (): number => Number(process.hrtime.bigint());

class ThreadAlarm implements PreciseAlarm {
  readonly #shared = new SharedArrayBuffer(16);
  readonly #wishes = new Int32Array(this.#shared, 0, 1);
  readonly #wakes = new Int32Array(this.#shared, 4, 1);
  readonly #due = new Float64Array(this.#shared, 8, 1);
  #thread: Worker | null = null;
  #threadFailed = false;
  /** True while a wake-up by the thread is awaited. */
  #listening = false;
  #timer: NodeJS.Timeout | undefined;
  #turn: NodeJS.Immediate | undefined;
  #dueNs = 0;
  #leadNs = FIRST_LEAD_NS;
  #ring: (() => void) | null = null;

  set(ns: number, ring: () => void): void {
    this.clear();
    this.#ring = ring;
    this.#dueNs = nowNs() + ns;
    this.#wait(ns);
  }

  clear(): void {
    this.#ring = null;
    clearTimeout(this.#timer);
    clearImmediate(this.#turn);
  }

  async close(): Promise<void> {
    this.clear();
    await this.#thread?.terminate();
  }

  readonly #look = (): void => {
    const ring = this.#ring;
    if (ring === null) return;
    const leftNs = this.#dueNs - nowNs();
    if (leftNs > 0) {
      this.#wait(leftNs);
      return;
    }
    this.#ring = null;
    ring();
  };

  #wait(ns: number): void {
    clearImmediate(this.#turn);
    if (ns <= (this.#threadFailed ? TURN_WITHIN_WITHOUT_THREAD_NS : this.#leadNs)) {
      this.#turn = setImmediate(this.#look);
    } else if (this.#threadFailed) {
      this.#timer = setTimeout(this.#look, Math.floor(ns / NS_PER_MS) - 1);
    } else {
      this.#thread ??= this.#startThread();
      // Read first: the thread may answer before we listen.
      const before = Atomics.load(this.#wakes, 0);
      this.#due[0] = this.#dueNs - this.#leadNs;
      Atomics.add(this.#wishes, 0, 1);
      Atomics.notify(this.#wishes, 0);
      this.#listen(before);
    }
  }

  /** A wake-up may be for a cancelled request; `#look` checks whether one is due. */
  #listen(before: number): void {
    if (this.#listening) return;
    const wake = Atomics.waitAsync(this.#wakes, 0, before);
    if (!wake.async) {
      this.#turn = setImmediate(this.#look);
      return;
    }
    this.#listening = true;
    void wake.value.then(() => {
      this.#listening = false;
      this.#learnLead();
      this.#look();
    });
  }

  #learnLead(): void {
    if (this.#ring !== null) this.#leadNs = learnedLeadNs(this.#leadNs, nowNs() - this.#dueNs);
  }

  #startThread(): Worker {
    const thread = new Worker(threadFile, { workerData: this.#shared });
    thread.unref();
    thread.on('error', () => {
      this.#threadFailed = true;
      this.#listening = false;
      this.#look();
    });
    return thread;
  }
}
