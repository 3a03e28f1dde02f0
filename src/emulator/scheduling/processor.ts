import type { Clock } from '../../base/clock.ts';
import type { WakeUps } from './wake-ups.ts';

/** Something that happens when an execution has got so far. */
export interface Moment {
  /** The work that is done by then: nanoseconds of the execution when it has the processor to itself. */
  readonly atNs: number;
  readonly action: () => void;
}

/** One execution. */
export interface Work {
  /** The model version: its executions slow each other by its own law, which is in `atNs` already. */
  readonly owner: object;
  /** The part of the processor that the execution takes, 0 to 1; 0: it neither slows others nor is slowed. */
  readonly share: number;
  /** By rising time, at least one; the last is the end of the execution. */
  readonly moments: readonly Moment[];
}

interface Running {
  readonly work: Work;
  /** Index of the moment that comes next. */
  next: number;
  doneNs: number;
  /** Work per time, 1 when nothing slows it. */
  speed: number;
  sinceNs: number;
  cancel: () => void;
}

/**
 * A GPU or CPU that several models use. Their executions run at once, and while they ask for more than there is each runs
 * slower by the same factor: processor sharing, which is what the time slices of a GPU and the scheduler of an operating
 * system come to over an execution. A model asks for the sum of its executions' shares, and for the whole at most; alone it is
 * not slowed, as its own law says what its instances cost each other.
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

  /** Starts an execution; its moments happen when its work has got so far. */
  run(work: Work): void {
    const nowNs = this.#clock.nowNs();
    if (this.#running.size === 0) this.#busySinceNs = nowNs;
    const one: Running = { work, next: 0, doneNs: 0, speed: 1, sinceNs: nowNs, cancel: () => undefined };
    this.#running.add(one);
    this.#schedule(one);
    if (work.share > 0) this.#share(nowNs);
  }

  /** Nanoseconds in which at least one execution was running, since the start. */
  busyNs(): number {
    return this.#busyNs + (this.#running.size > 0 ? this.#clock.nowNs() - this.#busySinceNs : 0);
  }

  #schedule(one: Running): void {
    const { atNs } = one.work.moments[one.next] as Moment;
    const dueNs = one.sinceNs + Math.max(0, atNs - one.doneNs) / one.speed;
    one.cancel = this.#wakeUps.at(dueNs, () => this.#reached(one, dueNs));
  }

  #reached(one: Running, dueNs: number): void {
    const { action, atNs } = one.work.moments[one.next] as Moment;
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

  /** Gives everything that runs the speed that it has from now on. */
  #share(nowNs: number): void {
    const asked = new Map<object, number>();
    for (const { work } of this.#running) asked.set(work.owner, Math.min(1, (asked.get(work.owner) ?? 0) + work.share));
    const whole = [...asked.values()].reduce((sum, share) => sum + share, 0);
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
