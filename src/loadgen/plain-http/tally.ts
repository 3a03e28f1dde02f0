import type { PhaseWatch } from '../transports/http1/connection.ts';
import type { ClientTimes } from '../types.ts';

/** Times of one kind: how many, their mean, and the extremes; zeros for none. In nanoseconds. */
export class Spread {
  count = 0;
  #sumNs = 0;
  #minNs = Number.POSITIVE_INFINITY;
  maxNs = 0;

  record(ns: number): void {
    this.count++;
    this.#sumNs += ns;
    if (ns < this.#minNs) this.#minNs = ns;
    if (ns > this.maxNs) this.maxNs = ns;
  }

  get meanNs(): number {
    return this.count === 0 ? 0 : this.#sumNs / this.count;
  }

  get minNs(): number {
    return this.count === 0 ? 0 : this.#minNs;
  }
}

/** Replies over plain HTTP: statuses, bytes, and the times of the parts of each exchange. */
export class ReplyTally implements PhaseWatch {
  /** Replies by their status code. */
  readonly statuses = new Map<number, number>();
  /** Bytes of all bodies, without heads and framing. */
  bodyBytes = 0;
  /** Times of name resolution, for new connections. */
  readonly lookup = new Spread();
  /** Times until new connections can be written to: name resolution, TCP and TLS. */
  readonly connect = new Spread();
  /** From the writing of a request to the first byte of its reply, and from there to the last. */
  readonly wait = new Spread();
  readonly read = new Spread();

  count(status: number, bodyBytes: number): void {
    this.statuses.set(status, (this.statuses.get(status) ?? 0) + 1);
    this.bodyBytes += bodyBytes;
  }

  lookedUp(ns: number): void {
    this.lookup.record(ns);
  }

  connected(ns: number): void {
    this.connect.record(ns);
  }

  replied({ sendNs, waitNs, receiveNs, unmarshalNs }: ClientTimes): void {
    this.wait.record(sendNs + waitNs);
    this.read.record(receiveNs + unmarshalNs);
  }
}
