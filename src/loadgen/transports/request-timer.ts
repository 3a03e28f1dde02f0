import { realClock } from '#base/clock.ts';
import { NS_PER_MS, NS_PER_S } from '#base/units.ts';
import type { ClientTimes, SendOutcome } from '../types.ts';

/** Records the moments of one request on the client's side. All times are of `realClock`. */
export class RequestTimer {
  readonly #startNs: number;
  #marshalNs = 0;
  /** 0 until then. */
  #sentNs = 0;
  #firstNs = 0;
  #lastNs = 0;

  constructor(startNs: number) {
    this.#startNs = startNs;
  }

  /** Records how long it took to make the request's bytes for the wire. */
  marshalled(ns: number): void {
    this.#marshalNs = ns;
  }

  /** Records that the kernel has taken the last byte of the request. */
  sent(): void {
    if (this.#sentNs === 0) this.#sentNs = realClock.nowNs();
  }

  /** Records that a piece of the reply arrived at this time. */
  heard(nowNs: number): void {
    if (this.#firstNs === 0) this.#firstNs = nowNs;
    this.#lastNs = nowNs;
  }

  /**
   * Returns the parts of the time up to now, when the reply has been read. A reply may arrive
   * before the report that all was sent.
   */
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

/** Returns the outcome with the times of its request if the request succeeded and was timed. */
export const withTimes = (outcome: SendOutcome, timer: RequestTimer | undefined): SendOutcome =>
  timer && outcome.ok ? { ...outcome, times: timer.times() } : outcome;

/**
 * Requests to time per second; all of them if there are fewer. A window of half a second then has
 * thirty and a measurement a hundred, enough for a mean. A timed request costs the thread 2 µs more
 * than another if many are timed, and about 20 if few are and the code for it is cold.
 */
const TIMED_PER_SECOND = 60;
/** Minimum interval between looks at the request rate, … */
const LOOK_NS = 10 * NS_PER_MS;
/** … and the longest gap between timed requests, whatever the rate. */
const LONGEST_NS = 50 * NS_PER_MS;
/**
 * The golden ratio's fraction: any number of its multiples are spread evenly over 0 to 1 (Knuth,
 * TAOCP 3, 6.4).
 */
const GOLDEN = (Math.sqrt(5) - 1) / 2;

/** Chooses the requests to time: enough for a mean, but so few that they cost next to nothing. */
export class TimedSample {
  /** The mean distance between timed requests, in requests. */
  #stride = 1;
  #phase = 0;
  #gap = 1;
  /** Requests until the next timed one, which comes no later than `#untilNs`. */
  #left = 1;
  #untilNs = 0;
  #lookedNs = 0;
  /** Requests since the last look. */
  #come = 0;

  /**
   * Returns a timer for the request that is sent now if it belongs to the sample. Short, so that
   * the compiler inlines it.
   */
  next(nowNs: number): RequestTimer | undefined {
    return --this.#left > 0 && nowNs < this.#untilNs ? undefined : this.#timed(nowNs);
  }

  #timed(nowNs: number): RequestTimer {
    this.#come += this.#gap - this.#left;
    if (nowNs - this.#lookedNs >= LOOK_NS) {
      const perSecond = (this.#come * NS_PER_S) / (nowNs - this.#lookedNs);
      this.#stride = Math.max(1, perSecond / TIMED_PER_SECOND);
      this.#lookedNs = nowNs;
      this.#come = 0;
    }
    this.#gap = this.#nextGap();
    this.#left = this.#gap;
    this.#untilNs = nowNs + LONGEST_NS;
    return new RequestTimer(nowNs);
  }

  /**
   * Half to one and a half strides, so that the sample does not keep in step with batches and
   * numbers of requests in flight.
   */
  #nextGap(): number {
    this.#phase = (this.#phase + GOLDEN) % 1;
    return Math.round(this.#stride * (0.5 + this.#phase)) | 0;
  }
}
