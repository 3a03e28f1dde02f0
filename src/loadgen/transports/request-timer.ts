import { realClock } from '../../base/clock.ts';
import { NS_PER_MS } from '../../base/units.ts';
import type { ClientTimes, SendOutcome } from '../types.ts';

/** Takes down the moments of one request on the client's side. All times are of `realClock`. */
export class RequestTimer {
  readonly #startNs: number;
  #marshalNs = 0;
  /** 0 before the moment has come. */
  #sentNs = 0;
  #firstNs = 0;
  #lastNs = 0;

  constructor(startNs: number) {
    this.#startNs = startNs;
  }

  /** The request's bytes for the wire were made in this time. */
  marshalled(ns: number): void {
    this.#marshalNs = ns;
  }

  /** The kernel has taken the last byte of the request. */
  readonly sent = (): void => {
    if (this.#sentNs === 0) this.#sentNs = realClock.nowNs();
  };

  /** A piece of the reply came at this time. */
  heard(nowNs: number): void {
    if (this.#firstNs === 0) this.#firstNs = nowNs;
    this.#lastNs = nowNs;
  }

  /** Returns the parts of the time up to now, when the reply has been read. A reply may be sooner than the word that all was sent. */
  times(): ClientTimes {
    const nowNs = realClock.nowNs();
    const firstNs = this.#firstNs === 0 ? nowNs : this.#firstNs;
    const lastNs = Math.max(firstNs, this.#lastNs);
    const madeNs = this.#startNs + this.#marshalNs;
    const sentNs = Math.max(madeNs, Math.min(this.#sentNs === 0 ? firstNs : this.#sentNs, firstNs));
    return {
      marshalNs: this.#marshalNs,
      sendNs: sentNs - madeNs,
      waitNs: Math.max(0, firstNs - sentNs),
      receiveNs: lastNs - firstNs,
      unmarshalNs: nowNs - lastNs,
    };
  }
}

/** The outcome with the times of its request, if it succeeded and was timed. */
export const withTimes = (outcome: SendOutcome, timer: RequestTimer | undefined): SendOutcome =>
  timer && outcome.ok ? { ...outcome, times: timer.times() } : outcome;

/**
 * One request in `stride` is timed where the mean gap between requests is `gapNs` or longer. Strides are primes, so that the sample does
 * not keep step with batches and numbers of requests in flight.
 */
const STRIDES = [
  { gapNs: NS_PER_MS, stride: 1 },
  { gapNs: NS_PER_MS / 20, stride: 17 },
  { gapNs: NS_PER_MS / 200, stride: 127 },
  { gapNs: 0, stride: 1009 },
] as const;

/** How many requests come is looked at so often. */
const LOOK_NS = 10 * NS_PER_MS;

/** Chooses the requests that are timed: enough for a mean, and so few that it costs next to nothing. */
export class TimedSample {
  #stride = 1;
  #lastNs = 0;
  /** Requests since the last that was timed. */
  #since = 0;
  #lookedNs = 0;
  /** Requests since the last look. */
  #come = 0;

  /** A timer for the request that is sent now, if it is one of the sample. */
  next(nowNs: number): RequestTimer | undefined {
    if (++this.#since < this.#stride && nowNs - this.#lastNs < LOOK_NS) return undefined;
    this.#come += this.#since;
    this.#since = 0;
    this.#lastNs = nowNs;
    if (nowNs - this.#lookedNs >= LOOK_NS) {
      this.#stride = strideAt((nowNs - this.#lookedNs) / this.#come);
      this.#lookedNs = nowNs;
      this.#come = 0;
    }
    return new RequestTimer(nowNs);
  }
}

const strideAt = (meanGapNs: number): number => STRIDES.find(({ gapNs }) => meanGapNs >= gapNs)?.stride ?? 1;
