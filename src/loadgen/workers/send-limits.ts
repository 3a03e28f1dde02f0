import { TrituneError } from '#base/errors.ts';
import { NS_PER_S, NS_PER_US } from '#base/units.ts';
import type { Throttle } from '../open-loop.ts';
import { failed } from '../transports/outcome.ts';
import type { PreparedRequest, Transport } from '../types.ts';

/**
 * Limits of sending, with the counts that all threads under them share. Plain data that can be sent
 * to threads.
 */
export interface SendLimits {
  readonly requestsPerSecond: number;
  readonly connections: number;
  readonly counts: SharedArrayBuffer;
}

/** The limits of one thread, and its place for the number of its connections. */
export interface ThreadLimits extends SendLimits {
  readonly place: number;
}

/**
 * Places in the counts: requests that may be sent at once, the microsecond up to which they are
 * credited, and each thread's open connections.
 */
const TOKENS = 0;
const CREDITED = 1;
const CONNECTIONS = 2;

/** Time whose requests may be sent at once. */
const BURST_NS = NS_PER_S / 2;
/**
 * Clocks of threads differ a little: a time that is this little ahead of the credited one is behind
 * it.
 */
const BEHIND_US = 2 ** 32 - 1e6;

/** Returns limits for this number of threads at `nowNs` of their common clock. */
export function newSendLimits(limits: Omit<SendLimits, 'counts'>, threads: number, nowNs: number): SendLimits {
  const counts = new SharedArrayBuffer((CONNECTIONS + threads) * Int32Array.BYTES_PER_ELEMENT);
  const places = new Int32Array(counts);
  places[TOKENS] = computeBurst(limits);
  places[CREDITED] = microseconds(nowNs);
  return { ...limits, counts };
}

const computeBurst = ({ requestsPerSecond }: Pick<SendLimits, 'requestsPerSecond'>): number =>
  Math.min(2 ** 30, Math.max(1, Math.floor((requestsPerSecond * BURST_NS) / NS_PER_S)));

/** As a 32-bit number, which begins again after 71 minutes. */
const microseconds = (nowNs: number): number => Math.floor(nowNs / NS_PER_US) | 0;

/**
 * A token bucket that several threads share: in any time t they take at most rate × (t + 1 s). A
 * request takes one atomic subtraction; the clock is read only when the bucket is empty.
 */
export class SharedBucket {
  readonly #places: Int32Array;
  readonly #perUs: number;
  readonly #burst: number;

  constructor(limits: SendLimits) {
    this.#places = new Int32Array(limits.counts);
    this.#perUs = (limits.requestsPerSecond * NS_PER_US) / NS_PER_S;
    this.#burst = computeBurst(limits);
  }

  /** Takes the place of one request; false if the rate is used up. */
  take(nowNs: () => number): boolean {
    do if (this.#tryTake()) return true;
    while (this.#credit(microseconds(nowNs())));
    return false;
  }

  #tryTake(): boolean {
    if (Atomics.sub(this.#places, TOKENS, 1) > 0) return true;
    Atomics.add(this.#places, TOKENS, 1);
    return false;
  }

  /**
   * Adds what the time since the last credit allows; false if that is nothing. Each moment is
   * credited by one thread only.
   */
  #credit(nowUs: number): boolean {
    const creditedUs = Atomics.load(this.#places, CREDITED);
    const elapsedUs = (nowUs - creditedUs) >>> 0;
    if (elapsedUs > BEHIND_US) return false;
    const tokens = Math.min(this.#burst, Math.floor(elapsedUs * this.#perUs));
    if (tokens === 0) return false;
    const upTo = tokens === this.#burst ? nowUs : (creditedUs + Math.ceil(tokens / this.#perUs)) | 0;
    // If another thread was first, its credit can be taken.
    if (Atomics.compareExchange(this.#places, CREDITED, creditedUs, upTo) === creditedUs)
      Atomics.add(this.#places, TOKENS, tokens);
    return true;
  }
}

/** Counts the open connections of one thread beside those of the others. */
export class SharedConnections {
  readonly #open: Int32Array;
  readonly #most: number;
  readonly #place: number;

  constructor({ counts, connections, place }: ThreadLimits) {
    this.#open = new Int32Array(counts, CONNECTIONS * Int32Array.BYTES_PER_ELEMENT);
    this.#most = connections;
    this.#place = place;
  }

  /** Takes the place of a connection; returns why there is none, or null. */
  take(): TrituneError | null {
    Atomics.add(this.#open, this.#place, 1);
    if (this.#open.reduce((sum, open) => sum + open, 0) <= this.#most) return null;
    this.release();
    return new TrituneError(
      'USAGE',
      `it opens at most ${this.#most} connections`,
      'lower the load, use more agents, or raise --max-connections of the agent',
    );
  }

  release(): void {
    Atomics.sub(this.#open, this.#place, 1);
  }

  /** For a thread that ended, with all its connections. */
  releaseAll(): void {
    Atomics.store(this.#open, this.#place, 0);
  }
}

/** Errors: USAGE for too many requests per second. */
export const rateExceeded = (limit: number, details: string): TrituneError =>
  new TrituneError(
    'USAGE',
    `it sends at most ${limit} requests per second, and ${details}`,
    'lower the load, use more agents, or raise --max-rate of the agent',
  );

const OVER_LIMIT = failed('refused', 'the limit of requests per second was reached');

/**
 * A schedule is behind by chance for this long at most, beside what random arrivals at the limit
 * add.
 */
const MAX_BEHIND_NS = 5 * NS_PER_S;
/** Random arrivals at the limit are this many standard deviations behind at most. */
const MAX_DEVIATIONS = 4;
const LONGEST_WAIT_NS = 50e6;

/** Keeps one thread's sends within the limit. The first request beyond it calls `onExcess`. */
export class SendThrottle implements Throttle {
  readonly #bucket: SharedBucket;
  readonly #perSecond: number;
  readonly #nowNs: () => number;
  readonly #onExcess: (fault: TrituneError) => void;
  /** A place that a schedule took for the request that it sends next. */
  #isReserved = false;

  constructor(limits: SendLimits, nowNs: () => number, onExcess: (fault: TrituneError) => void) {
    this.#bucket = new SharedBucket(limits);
    this.#perSecond = limits.requestsPerSecond;
    this.#nowNs = nowNs;
    this.#onExcess = onExcess;
  }

  /**
   * Arrivals that keep the limit on average exceed it for a while: they are sent later. A schedule
   * that falls ever further behind asks for more than the limit.
   */
  waitNs(overdueNs: number, sent: number): number {
    this.#isReserved ||= this.#bucket.take(this.#nowNs);
    if (this.#isReserved) return 0;
    const byChanceNs = (MAX_DEVIATIONS * Math.sqrt(sent) * NS_PER_S) / this.#perSecond;
    if (overdueNs > MAX_BEHIND_NS + byChanceNs) this.#exceed();
    return Math.min(NS_PER_S / this.#perSecond, LONGEST_WAIT_NS);
  }

  /** Takes the place of a request that is sent now; false if there is none. */
  take(): boolean {
    const isFree = this.#isReserved || this.#bucket.take(this.#nowNs);
    this.#isReserved = false;
    if (!isFree) this.#exceed();
    return isFree;
  }

  #exceed(): void {
    this.#onExcess(rateExceeded(this.#perSecond, 'more were due'));
  }
}

/**
 * Wraps a transport so that it sends within the limit. A request beyond it fails, and is not sent.
 */
export const limitedSends = <P extends PreparedRequest>(
  transport: Transport<P>,
  throttle: Pick<SendThrottle, 'take'>,
): Transport<P> => ({
  prepare: (request) => transport.prepare(request),
  send(prepared, done) {
    if (throttle.take()) transport.send(prepared, done);
    else done(OVER_LIMIT);
  },
  close: () => transport.close(),
});
