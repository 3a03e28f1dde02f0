import { NS_PER_MS } from './units.ts';

/**
 * The source of time for every room. `nowNs` is monotonic; `wallMs` is for people and file names
 * only.
 */
export interface Clock {
  /** Monotonic nanoseconds from an arbitrary origin. */
  nowNs(): number;
  /** Milliseconds since the Unix epoch. */
  wallMs(): number;
  /** Resolves after `ms`; rejects with the signal's reason if the signal aborts first. */
  sleep(ms: number, signal?: AbortSignal): Promise<void>;
}

/** The machine's clock. */
export const realClock: Clock = {
  nowNs: () => performance.now() * NS_PER_MS,
  wallMs: () => Date.now(),
  sleep: (ms, signal) =>
    new Promise((resolve, reject) => {
      if (signal?.aborted) {
        reject(signal.reason);
        return;
      }
      const onAbort = (): void => {
        clearTimeout(timer);
        reject(signal?.reason);
      };
      const timer = setTimeout(() => {
        signal?.removeEventListener('abort', onAbort);
        resolve();
      }, ms);
      signal?.addEventListener('abort', onAbort, { once: true });
    }),
};

/**
 * The time since the Unix epoch at the zero of `realClock`, in nanoseconds, by the system clock
 * when this process began.
 */
export const realClockZeroNs = performance.timeOrigin * NS_PER_MS;

/** A clock for tests: time passes only by sleeping on it or by `advance`. */
export class VirtualClock implements Clock {
  #nowNs = 0;
  readonly #startWallMs: number;

  constructor(startWallMs = 0) {
    this.#startWallMs = startWallMs;
  }

  nowNs(): number {
    return this.#nowNs;
  }

  wallMs(): number {
    return this.#startWallMs + this.#nowNs / NS_PER_MS;
  }

  advance(ms: number): void {
    this.#nowNs += ms * NS_PER_MS;
  }

  async sleep(ms: number, signal?: AbortSignal): Promise<void> {
    signal?.throwIfAborted();
    this.advance(ms);
  }
}
