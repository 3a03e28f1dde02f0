import type { Clock } from '#base/clock.ts';

/** Waits for traffic to finish, with a deadline. */
export class Rest {
  #reached = (): void => undefined;

  /** Call this when there is nothing left to wait for. */
  reach(): void {
    this.#reached();
  }

  /** Resolves when `reach` is called, or after `limitMs`. */
  async within(limitMs: number, clock: Clock): Promise<void> {
    const waiting = new AbortController();
    const atRest = new Promise<void>((resolve) => {
      this.#reached = resolve;
    });
    await Promise.race([atRest, clock.sleep(limitMs, waiting.signal).catch(() => undefined)]);
    waiting.abort();
  }
}
