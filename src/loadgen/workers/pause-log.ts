import { NS_PER_MS } from '#base/units.ts';
import type { Pause } from '../client/held-up.ts';

/**
 * libuv counts whole milliseconds, so a timer among other events is up to one late even in a thread
 * without delays. The kernel wakes a thread 0.05 to 0.15 ms late (timers of 1, 2 and 5 ms in a
 * thread that did nothing else, Linux 6.18).
 */
const GRANULARITY_NS = 1.15 * NS_PER_MS;

/**
 * Derives pauses from the ticks of a timer and from the garbage collections that the thread
 * reports. A tick that is later than a timer may be is a pause of that length. A collection within
 * a pause is its cause; any other collection is a pause of its own.
 */
export class PauseLog {
  readonly #periodNs: number;
  #lastTickNs: number;
  #pauses: Pause[] = [];
  /** The latest pause found by a tick: a collection within it may be reported later. */
  #told: Pause | null = null;

  constructor(periodNs: number, nowNs: number) {
    this.#periodNs = periodNs;
    this.#lastTickNs = nowNs;
  }

  tick(nowNs: number): void {
    const lateNs = nowNs - this.#lastTickNs - this.#periodNs;
    this.#lastTickNs = nowNs;
    if (lateNs <= GRANULARITY_NS) return;
    this.#told = { startNs: nowNs - lateNs, lengthNs: lateNs, gcNs: 0 };
    this.#pauses.push(this.#told);
  }

  collected(startNs: number, lengthNs: number): void {
    const pause = this.#told;
    const isWithin =
      pause !== null && startNs < pause.startNs + pause.lengthNs && startNs + lengthNs > pause.startNs - this.#periodNs;
    if (!isWithin) {
      this.#pauses.push({ startNs, lengthNs, gcNs: lengthNs });
      return;
    }
    const at = this.#pauses.lastIndexOf(pause);
    const gcNs = Math.min(pause.lengthNs, pause.gcNs + lengthNs);
    this.#told = { ...pause, gcNs };
    // Once the pause has been taken, only its cause is missing, which is not worth a second pause.
    if (at >= 0) this.#pauses[at] = this.#told;
  }

  /**
   * Returns the pauses that have not been taken yet. A tick that is late by now already counts as a
   * pause.
   */
  take(nowNs: number): readonly Pause[] {
    if (nowNs - this.#lastTickNs - this.#periodNs > GRANULARITY_NS) this.tick(nowNs);
    const taken = this.#pauses;
    if (taken.length > 0) this.#pauses = [];
    return taken;
  }
}
