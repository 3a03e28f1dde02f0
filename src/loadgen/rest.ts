import type { Clock } from '../base/clock.ts';

/** Waits for traffic to come to rest, with a deadline. */
export class Rest {
  #reached = (): void => undefined;

  /** To be called when nothing is left to wait for. */
  reach(): void {
    this.#reached();
  }

  /** Ends when `reach` is called, or after `limitMs`. */
  async within(limitMs: number, clock: Clock): Promise<void> {
    const waiting = new AbortController();
    const atRest = new Promise<void>((resolve) => {
      this.#reached = resolve;
    });
    await Promise.race([atRest, clock.sleep(limitMs, waiting.signal).catch(() => undefined)]);
    waiting.abort();
  }
}
