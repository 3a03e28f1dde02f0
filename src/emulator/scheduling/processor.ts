import type { Clock } from '#base/clock.ts';
import type { WakeUps } from './wake-ups.ts';

/** An event at some point of an execution. */
export interface ExecutionEvent {
  /** The work done by then: nanoseconds of the execution if it has the processor to itself. */
  readonly atNs: number;
  readonly action: () => void;
}

/** One execution. */
export interface ExecutionWork {
  /** The model version: its own law, already in `atNs`, says how its executions slow each other. */
  readonly owner: object;
  /**
   * The share of the processor that the execution takes, 0 to 1; 0: it neither slows others nor is
   * slowed.
   */
  readonly share: number;
  /** By rising time, at least one; the last is the end of the execution. */
  readonly moments: readonly ExecutionEvent[];
}

interface Running {
  readonly work: ExecutionWork;
  /** Index of the next moment. */
  next: number;
  doneNs: number;
  /** Work per time; 1 if nothing slows it. */
  speed: number;
  sinceNs: number;
  cancel: () => void;
}

/**
 * A GPU or CPU that several models share. Their executions run at once, and if they ask for more
 * than there is, each is slowed by the same factor. This is processor sharing, which approximates a
 * GPU's time slices and an operating system's scheduler over an execution. A model asks for the sum
 * of its executions' shares, but at most for the whole; alone it is not slowed, because its own law
 * says what its instances cost each other.
 */
export class Processor {
  readonly #clock: Clock;
  readonly #wakeUps: WakeUps;
  readonly #running = new Set<Running>();
  #busyNs = 0;
  #busySinceNs = 0;

  constructor(clock: Clock, wakeUps: WakeUps) {
    this.#clock = clock;
    this.#wakeUps = wakeUps;
  }

  /** Starts an execution; its moments occur as its work progresses. */
  run(work: ExecutionWork): void {
    const nowNs = this.#clock.nowNs();
    if (this.#running.size === 0) this.#busySinceNs = nowNs;
    const one: Running = { work, next: 0, doneNs: 0, speed: 1, sinceNs: nowNs, cancel: () => undefined };
    this.#running.add(one);
    this.#schedule(one);
    if (work.share > 0) this.#share(nowNs);
  }

  /** Returns the nanoseconds in which at least one execution was running, since the start. */
  busyNs(): number {
    return this.#busyNs + (this.#running.size > 0 ? this.#clock.nowNs() - this.#busySinceNs : 0);
  }

  #schedule(one: Running): void {
    const { atNs } = one.work.moments[one.next] as ExecutionEvent;
    const dueNs = one.sinceNs + Math.max(0, atNs - one.doneNs) / one.speed;
    one.cancel = this.#wakeUps.at(dueNs, () => this.#reached(one, dueNs));
  }

  #reached(one: Running, dueNs: number): void {
    const { action, atNs } = one.work.moments[one.next] as ExecutionEvent;
    one.next += 1;
    if (one.next === one.work.moments.length) this.#end(one);
    else {
      one.doneNs = atNs;
      one.sinceNs = dueNs;
      this.#schedule(one);
    }
    action();
  }

  #end(one: Running): void {
    const nowNs = this.#clock.nowNs();
    this.#running.delete(one);
    if (this.#running.size === 0) this.#busyNs += nowNs - this.#busySinceNs;
    if (one.work.share > 0) this.#share(nowNs);
  }

  /** Sets the new speed of everything that runs. */
  #share(nowNs: number): void {
    const shares = new Map<object, number>();
    for (const { work } of this.#running)
      shares.set(work.owner, Math.min(1, (shares.get(work.owner) ?? 0) + work.share));
    const whole = [...shares.values()].reduce((sum, share) => sum + share, 0);
    for (const one of this.#running) {
      const speed = one.work.share > 0 ? 1 / Math.max(1, whole) : 1;
      if (speed === one.speed) continue;
      one.doneNs += (nowNs - one.sinceNs) * one.speed;
      one.sinceNs = nowNs;
      one.speed = speed;
      one.cancel();
      this.#schedule(one);
    }
  }
}
