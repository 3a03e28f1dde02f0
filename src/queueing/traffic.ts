import { TrituneError } from '../base/errors.ts';
import type { Random } from '../base/random.ts';
import { EventHeap } from './event-heap.ts';

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
      /** The clients begin at random times within this span; all at once when it is 0 or absent. */
      readonly rampNs?: number;
      /** Mean of an exponential extra delay of each request on its way; part of its latency. */
      readonly jitterNs?: number;
      readonly samplesPerRequest?: number;
    }
  | {
      readonly kind: 'open';
      /** Times at which requests reach the server, rising. */
      readonly arrivalsNs: ArrayLike<number>;
      readonly roundTripNs?: number;
      readonly samplesPerRequest?: number;
    };

/** The coming requests in the order of arrival, which without jitter is that of sending. */
export class ArrivalStream {
  /** Times of sending, in the order in which they became known. */
  readonly #sentNs: Float64Array;
  /** Requests on their way, by index in `#sentNs`; used only where they do not arrive in that order. */
  readonly #onTheirWay: EventHeap | null;
  /** The same in the order of arrival. */
  readonly #takenNs: Float64Array;
  readonly #pauseNs: number = 0;
  readonly #jitterNs: number = 0;
  readonly #random: Random;
  #taken = 0;
  #sent = 0;

  /** `requests`: the most that a closed loop sends. `random` is drawn from only for a ramp or for jitter. */
  constructor(traffic: Traffic, requests: number, random: Random) {
    this.#random = random;
    if (traffic.kind === 'open') {
      this.#sentNs = Float64Array.from(traffic.arrivalsNs);
      this.#sent = this.#sentNs.length;
      this.#onTheirWay = null;
      this.#takenNs = this.#sentNs;
      return;
    }
    const { concurrency, roundTripNs = 0, thinkNs = 0, jitterNs = 0, rampNs = 0 } = traffic;
    this.#sentNs = new Float64Array(Math.max(requests, concurrency));
    this.#pauseNs = roundTripNs + thinkNs;
    this.#jitterNs = jitterNs;
    this.#onTheirWay = jitterNs > 0 || rampNs > 0 ? new EventHeap() : null;
    this.#takenNs = this.#onTheirWay ? new Float64Array(this.#sentNs.length) : this.#sentNs;
    const startsNs = new Float64Array(concurrency);
    for (let client = 0; rampNs > 0 && client < concurrency; client++) startsNs[client] = rampNs * random.float();
    for (const startNs of startsNs.sort()) this.#send(startNs);
  }

  /** Infinity when no further request is known. */
  get nextNs(): number {
    if (this.#onTheirWay) return this.#onTheirWay.nextNs;
    return this.#taken < this.#sent ? (this.#sentNs[this.#taken] as number) : Number.POSITIVE_INFINITY;
  }

  /** Takes the next request and returns its number, from 0. */
  take(): number {
    if (this.#onTheirWay) this.#takenNs[this.#taken] = this.#sentNs[this.#onTheirWay.take()] as number;
    return this.#taken++;
  }

  /** Returns when the taken request was sent. */
  sentNs(request: number): number {
    return this.#takenNs[request] as number;
  }

  /** Lets the client of an answered request send its next one, in a closed loop. */
  answered(nowNs: number): void {
    if (this.#sent < this.#sentNs.length) this.#send(nowNs + this.#pauseNs);
  }

  #send(atNs: number): void {
    this.#sentNs[this.#sent] = atNs;
    const lateNs = this.#jitterNs > 0 ? -this.#jitterNs * Math.log(1 - this.#random.float()) : 0;
    this.#onTheirWay?.add(atNs + lateNs, this.#sent);
    this.#sent++;
  }
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
  } else {
    checkArrivals(traffic.arrivalsNs);
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

function checkTime(name: string, ns: number): void {
  if (!(ns >= 0 && ns < Number.POSITIVE_INFINITY)) refuse(`${name} ${ns}`, 'give a finite time of at least 0');
}

function refuse(what: string, hint: string): never {
  throw new TrituneError('INPUT_INVALID', `no client can send this traffic: ${what}`, hint);
}
