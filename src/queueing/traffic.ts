import { TrituneError } from '../base/errors.ts';

/** What the clients of a simulated server do. Every request has the same number of samples, 1 unless given. */
export type Traffic =
  | {
      readonly kind: 'closed';
      /** Clients that send their next request when the last one has come back. */
      readonly concurrency: number;
      /** Time a request spends in the network and in the client; part of its latency. */
      readonly roundTripNs?: number;
      /** Pause of a client between a response and its next request; no part of any latency. */
      readonly thinkNs?: number;
      readonly samplesPerRequest?: number;
    }
  | {
      readonly kind: 'open';
      /** When the requests reach the server, rising. */
      readonly arrivalsNs: ArrayLike<number>;
      readonly roundTripNs?: number;
      readonly samplesPerRequest?: number;
    };

/**
 * The coming requests of a traffic in order of arrival. In a closed loop all clients take the same time between a
 * response and their next request, so requests arrive in the order in which the last ones were answered.
 */
export class ArrivalStream {
  readonly #times: Float64Array;
  readonly #pauseNs: number;
  #taken = 0;
  #known: number;

  /** `requests`: how many a closed loop sends at most. */
  constructor(traffic: Traffic, requests: number) {
    if (traffic.kind === 'open') {
      this.#times = Float64Array.from(traffic.arrivalsNs);
      this.#known = this.#times.length;
      this.#pauseNs = 0;
      return;
    }
    this.#times = new Float64Array(Math.max(requests, traffic.concurrency));
    this.#known = traffic.concurrency;
    this.#pauseNs = (traffic.roundTripNs ?? 0) + (traffic.thinkNs ?? 0);
  }

  /** Infinity when no further request is known. */
  get nextNs(): number {
    return this.#taken < this.#known ? (this.#times[this.#taken] as number) : Number.POSITIVE_INFINITY;
  }

  /** Takes the next request; gives its number, counted from 0. */
  take(): number {
    return this.#taken++;
  }

  arrivedNs(request: number): number {
    return this.#times[request] as number;
  }

  /** In a closed loop the client of an answered request sends its next one. */
  answered(nowNs: number): void {
    if (this.#known < this.#times.length) this.#times[this.#known++] = nowNs + this.#pauseNs;
  }
}

/** Throws INPUT_INVALID for traffic that no client could send. */
export function checkTraffic(traffic: Traffic): void {
  if (traffic.kind === 'closed') {
    if (!Number.isInteger(traffic.concurrency) || traffic.concurrency < 1) {
      refuse(`concurrency ${traffic.concurrency}`, 'give an integer of at least 1');
    }
    checkTime('thinkNs', traffic.thinkNs ?? 0);
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
