import { TrituneError } from '#base/errors.ts';
import type { Random } from '#base/random.ts';
import { NS_PER_S } from '#base/units.ts';
import { EventHeap } from './event-heap.ts';
import { grown } from './ring.ts';

/** The load on a simulated server. Every request has the same number of samples, 1 if absent. */
export type Traffic =
  | {
      readonly kind: 'closed';
      /** Clients, each of which sends its next request after the reply. */
      readonly concurrency: number;
      /** Time of a request in network and client; part of its latency. */
      readonly roundTripNs?: number;
      /** Pause of a client between a response and its next request; no part of any latency. */
      readonly thinkNs?: number;
      /** The span within which clients begin at random times; all at once if it is 0 or absent. */
      readonly rampNs?: number;
      /** Mean of an exponential extra delay of each request on its way; part of its latency. */
      readonly jitterNs?: number;
      readonly samplesPerRequest?: number;
    }
  | {
      readonly kind: 'open';
      /** Times at which requests reach the server, rising. */
      readonly arrivalsNs: ArrayLike<number>;
      /** The latency that each request keeps to be a good one; absent: all are good. */
      readonly limitsNs?: ArrayLike<number>;
      readonly roundTripNs?: number;
      readonly samplesPerRequest?: number;
    }
  | {
      readonly kind: 'rate';
      /**
       * Requests per second that reach the server throughout the simulation, whatever the replies.
       */
      readonly perSecond: number;
      /** Gaps between them: constant, or exponential. */
      readonly distribution: 'constant' | 'poisson';
      readonly roundTripNs?: number;
      readonly samplesPerRequest?: number;
    };

/** The most requests of a simulation: each takes memory and part of a microsecond. */
export const MAX_REQUESTS = 2 ** 24;

/** The initial capacity for requests of an endless client. */
const FIRST_SPACE = 1024;

/** The future requests in order of arrival, which without jitter is the order of sending. */
export class ArrivalStream {
  /** Times of sending, in the order in which they became known. */
  #sentNs: Float64Array;
  /** Requests in transit, by index in `#sentNs`; used only if they do not arrive in that order. */
  readonly #onTheirWay: EventHeap | null = null;
  /** The same in the order of arrival. */
  #takenNs: Float64Array;
  /** The most requests that are sent after answers. */
  #mostClosed = 0;
  readonly #pauseNs: number = 0;
  readonly #jitterNs: number = 0;
  /** Mean gap between requests at a rate; 0 for other traffic. */
  readonly #gapNs: number = 0;
  readonly #isPoisson: boolean = false;
  readonly #random: Random;
  readonly #limitsNs: ArrayLike<number> | null = null;
  #taken = 0;
  #sent = 0;

  /**
   * `most`: the most requests that a closed loop sends; Infinity for no end. `random`: used for a
   * ramp, jitter and Poisson.
   */
  constructor(traffic: Traffic, most: number, random: Random) {
    this.#random = random;
    if (traffic.kind === 'open') {
      this.#sentNs = Float64Array.from(traffic.arrivalsNs);
      this.#takenNs = this.#sentNs;
      this.#sent = this.#sentNs.length;
      this.#limitsNs = traffic.limitsNs ?? null;
      return;
    }
    if (traffic.kind === 'rate') {
      this.#sentNs = new Float64Array(FIRST_SPACE);
      this.#takenNs = this.#sentNs;
      this.#gapNs = NS_PER_S / traffic.perSecond;
      this.#isPoisson = traffic.distribution === 'poisson';
      this.#send(this.#gap());
      return;
    }
    const { concurrency, roundTripNs = 0, thinkNs = 0, jitterNs = 0, rampNs = 0 } = traffic;
    this.#mostClosed = Math.max(most, concurrency);
    this.#sentNs = new Float64Array(Number.isFinite(most) ? this.#mostClosed : Math.max(FIRST_SPACE, concurrency));
    this.#takenNs = this.#sentNs;
    this.#pauseNs = roundTripNs + thinkNs;
    this.#jitterNs = jitterNs;
    if (jitterNs > 0 || rampNs > 0) {
      this.#onTheirWay = new EventHeap();
      this.#takenNs = new Float64Array(this.#sentNs.length);
    }
    const startsNs = new Float64Array(concurrency);
    for (let client = 0; rampNs > 0 && client < concurrency; client++) startsNs[client] = rampNs * random.float();
    for (const startNs of startsNs.sort()) this.#send(startNs);
  }

  /** Infinity if no future request is known. */
  get nextNs(): number {
    if (this.#onTheirWay) return this.#onTheirWay.nextNs;
    return this.#taken < this.#sent ? (this.#sentNs[this.#taken] as number) : Number.POSITIVE_INFINITY;
  }

  /** Takes the next request and returns its number, from 0. */
  take(): number {
    const request = this.#taken++;
    if (this.#onTheirWay) this.#takenNs[request] = this.#sentNs[this.#onTheirWay.take()] as number;
    else if (this.#gapNs > 0) this.#send((this.#sentNs[request] as number) + this.#gap());
    return request;
  }

  /** Returns the sending time of the taken request. */
  sentNs(request: number): number {
    return this.#takenNs[request] as number;
  }

  /** Returns the largest latency at which the taken request is good; Infinity for any. */
  limitNs(request: number): number {
    return this.#limitsNs === null ? Number.POSITIVE_INFINITY : (this.#limitsNs[request] as number);
  }

  /** Lets the client of an answered request send its next one, in a closed loop. */
  answered(nowNs: number): void {
    if (this.#sent < this.#mostClosed) this.#send(nowNs + this.#pauseNs);
  }

  #gap(): number {
    return this.#isPoisson ? -this.#gapNs * Math.log(1 - this.#random.float()) : this.#gapNs;
  }

  #send(atNs: number): void {
    if (this.#sent === this.#sentNs.length) this.#makeSpace();
    this.#sentNs[this.#sent] = atNs;
    const lateNs = this.#jitterNs > 0 ? -this.#jitterNs * Math.log(1 - this.#random.float()) : 0;
    this.#onTheirWay?.add(atNs + lateNs, this.#sent);
    this.#sent++;
  }

  #makeSpace(): void {
    if (this.#sent >= MAX_REQUESTS) {
      throw new TrituneError(
        'INPUT_INVALID',
        `a simulation of more than ${MAX_REQUESTS} requests is larger than is run`,
        'give fewer requests, or rates that are not so far apart',
      );
    }
    const isSame = this.#takenNs === this.#sentNs;
    this.#sentNs = grown(this.#sentNs);
    this.#takenNs = isSame ? this.#sentNs : grown(this.#takenNs);
  }
}

/** True if the times of the traffic's requests are random. */
export function isRandom(traffic: Traffic): boolean {
  if (traffic.kind === 'closed') return (traffic.jitterNs ?? 0) > 0 || (traffic.rampNs ?? 0) > 0;
  return traffic.kind === 'rate' && traffic.distribution === 'poisson';
}

/** Checks traffic. Throws INPUT_INVALID for traffic that no client could send. */
export function checkTraffic(traffic: Traffic): void {
  if (traffic.kind === 'closed') {
    if (!Number.isInteger(traffic.concurrency) || traffic.concurrency < 1) {
      refuse(`concurrency ${traffic.concurrency}`, 'give an integer of at least 1');
    }
    checkTime('thinkNs', traffic.thinkNs ?? 0);
    checkTime('rampNs', traffic.rampNs ?? 0);
    checkTime('jitterNs', traffic.jitterNs ?? 0);
  } else if (traffic.kind === 'rate') {
    if (!(traffic.perSecond > 0 && traffic.perSecond < Number.POSITIVE_INFINITY)) {
      refuse(`${traffic.perSecond} requests per second`, 'give a finite rate above 0');
    }
  } else {
    checkArrivals(traffic.arrivalsNs);
    checkLimits(traffic.arrivalsNs, traffic.limitsNs);
  }
  checkTime('roundTripNs', traffic.roundTripNs ?? 0);
}

function checkArrivals(arrivalsNs: ArrayLike<number>): void {
  for (let index = 0; index < arrivalsNs.length; index++) {
    const before = index === 0 ? 0 : (arrivalsNs[index - 1] as number);
    const at = arrivalsNs[index] as number;
    if (!(at >= before && at < Number.POSITIVE_INFINITY)) {
      refuse(`arrival ${index} at ${at} ns`, 'give finite times, sorted, from 0');
    }
  }
}

function checkLimits({ length }: ArrayLike<number>, limitsNs: ArrayLike<number> | undefined): void {
  if (!limitsNs || limitsNs.length === length) return;
  refuse(`limits of ${limitsNs.length} requests for ${length} arrivals`, 'give one limit for each arrival');
}

function checkTime(name: string, ns: number): void {
  if (!(ns >= 0 && ns < Number.POSITIVE_INFINITY)) refuse(`${name} ${ns}`, 'give a finite time of at least 0');
}

function refuse(what: string, hint: string): never {
  throw new TrituneError('INPUT_INVALID', `no client can send this traffic: ${what}`, hint);
}
