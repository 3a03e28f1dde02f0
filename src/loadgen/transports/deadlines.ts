import { realClock } from '#base/clock.ts';
import { msToNs } from '#base/units.ts';

/**
 * Checks of in-flight requests per timeout: enough that a timeout is at most a few per cent late.
 */
const SWEEPS_PER_TIMEOUT = 20;
const MIN_SWEEP_MS = 2;
const MAX_SWEEP_MS = 100;

/** Returns the interval between sweeps for a timeout, in milliseconds. */
export function sweepPeriodMs(timeoutMs: number): number {
  return Math.min(Math.max(timeoutMs / SWEEPS_PER_TIMEOUT, MIN_SWEEP_MS), MAX_SWEEP_MS);
}

/** A request in flight that ends when its time is up. */
export interface Expirable {
  expire(): void;
}

/**
 * One timer for all requests of a transport. All have the same timeout, so they expire in the order
 * in which they were sent, and a sweep stops at the first that still has time.
 */
export class RequestDeadlines<T extends Expirable> {
  readonly #timeoutNs: number;
  readonly #dueNs = new Map<T, number>();
  readonly #timer: NodeJS.Timeout;

  constructor(timeoutMs: number) {
    this.#timeoutNs = msToNs(timeoutMs);
    this.#timer = setInterval(() => this.#sweep(), sweepPeriodMs(timeoutMs));
  }

  add(request: T): void {
    this.#dueNs.set(request, realClock.nowNs() + this.#timeoutNs);
  }

  remove(request: T): void {
    this.#dueNs.delete(request);
  }

  /** All requests in flight, oldest first. */
  pending(): T[] {
    return [...this.#dueNs.keys()];
  }

  stop(): void {
    clearInterval(this.#timer);
    this.#dueNs.clear();
  }

  #sweep(): void {
    const nowNs = realClock.nowNs();
    for (const [request, dueNs] of this.#dueNs) {
      if (dueNs > nowNs) return;
      this.#dueNs.delete(request);
      request.expire();
    }
  }
}
