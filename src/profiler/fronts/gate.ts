import { interrupted, throwIfInterrupted } from '#base/abort.ts';
import type { MeasuredTraffic } from '../traffic.ts';

/**
 * A point of a measurement that all of its fronts pass together: the last one to arrive opens it.
 */
export class Gate {
  readonly #opened = Promise.withResolvers<void>();
  readonly #whenAll: () => Promise<void> | void;
  /** True if several fronts pass it. */
  readonly isShared: boolean;
  #missing: number;

  /** `whenAll` runs once, after all have arrived and before any continues. */
  constructor(fronts: number, whenAll: () => Promise<void> | void = () => undefined) {
    this.isShared = fronts > 1;
    this.#missing = fronts;
    this.#whenAll = whenAll;
    // Waiting fronts see the rejection, but there may be none.
    this.#opened.promise.catch(() => undefined);
  }

  get #isComplete(): boolean {
    return this.#missing <= 0;
  }

  /**
   * Arrives and waits for the others. Errors: INTERRUPTED if the signal aborts first; those of
   * `whenAll`.
   */
  async pass(signal: AbortSignal): Promise<void> {
    this.#come();
    if (this.#isComplete) return this.#opened.promise;
    throwIfInterrupted(signal);
    const ended = Promise.withResolvers<never>();
    const end = (): void => ended.reject(interrupted(signal));
    signal.addEventListener('abort', end, { once: true });
    try {
      await Promise.race([this.#opened.promise, ended.promise]);
    } finally {
      signal.removeEventListener('abort', end);
    }
  }

  /**
   * As `pass`, while traffic continues and is watched. Errors: as `Traffic.waitUntil`; those of
   * `whenAll`.
   */
  async passWith(traffic: MeasuredTraffic): Promise<void> {
    this.#come();
    while (!this.#isComplete) await traffic.waitUntil(() => this.#isComplete, Number.POSITIVE_INFINITY);
    return this.#opened.promise;
  }

  #come(): void {
    this.#missing--;
    if (this.#isComplete) Promise.resolve().then(this.#whenAll).then(this.#opened.resolve, this.#opened.reject);
  }
}
