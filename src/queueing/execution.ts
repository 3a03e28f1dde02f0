import type { RequestRing } from './ring.ts';

/**
 * An execution that has just started. A view: read it before the next call of any method of its
 * batcher.
 */
export interface Execution {
  /** The instance that runs it, from 0. It runs nothing else until `complete` is called with it. */
  readonly instance: number;
  /** Samples in the batch. */
  readonly batchSize: number;
  readonly requestCount: number;
  /** Identifier of the index-th request of the batch, as it was given to `arrive`. */
  requestId(index: number): number;
  /** Samples of the index-th request. */
  samples(index: number): number;
  /** Arrival time of the index-th request. */
  enqueuedNs(index: number): number;
}

/**
 * The view that a batcher reuses for every execution. Requests run in order, so a batch is a range
 * of positions.
 */
export class ExecutionView implements Execution {
  readonly #requests: RequestRing;
  #start = 0;
  end = 0;
  instance = 0;
  batchSize = 0;

  constructor(requests: RequestRing) {
    this.#requests = requests;
  }

  show(instance: number, batchSize: number, end: number): void {
    this.#start = this.end;
    this.end = end;
    this.instance = instance;
    this.batchSize = batchSize;
  }

  get requestCount(): number {
    return this.end - this.#start;
  }

  requestId(index: number): number {
    return this.#requests.id(this.#start + index);
  }

  samples(index: number): number {
    return this.#requests.samples(this.#start + index);
  }

  enqueuedNs(index: number): number {
    return this.#requests.enqueuedNs(this.#start + index);
  }
}
