import type { Clock } from '#base/clock.ts';
import { nsToMs } from '#base/units.ts';

const LOOK_EVERY_MS = 250;
/**
 * A check that comes this long after the one before means that this process stood still and has not
 * read its messages.
 */
const STOOD_STILL_MS = 1000;

/**
 * Checks that the other side sends something in time, by the time that passed, also while this
 * process stood still.
 */
export class SilenceWatch {
  readonly #clock: Clock;
  readonly #timer: NodeJS.Timeout;
  #heardNs: number;
  #lookedNs: number;
  /** True if the last check was late and left the verdict to the next one. */
  #waits = false;

  /**
   * `onSilence` is called when nothing was received for `limitMs`, and at every check after that.
   */
  constructor(clock: Clock, limitMs: () => number, onSilence: (limitMs: number) => void) {
    this.#clock = clock;
    this.#heardNs = clock.nowNs();
    this.#lookedNs = this.#heardNs;
    this.#timer = setInterval(() => {
      const nowNs = clock.nowNs();
      // What arrived meanwhile is read before the next check. Standing still again gives no more
      // time.
      this.#waits = !this.#waits && nsToMs(nowNs - this.#lookedNs) > STOOD_STILL_MS;
      this.#lookedNs = nowNs;
      if (this.#waits) return;
      const limit = limitMs();
      if (nsToMs(nowNs - this.#heardNs) > limit) onSilence(limit);
    }, LOOK_EVERY_MS);
  }

  heard(): void {
    this.#heardNs = this.#clock.nowNs();
  }

  stop(): void {
    clearInterval(this.#timer);
  }
}
