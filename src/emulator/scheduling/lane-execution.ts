import type { Execution } from '#queueing/execution.ts';

/**
 * An execution of a single-instance batcher, with the number of that instance in the whole model.
 */
export class LaneExecution implements Execution {
  readonly instance: number;
  readonly #started: Execution;

  constructor(instance: number, started: Execution) {
    this.instance = instance;
    this.#started = started;
  }

  get batchSize(): number {
    return this.#started.batchSize;
  }

  get requestCount(): number {
    return this.#started.requestCount;
  }

  requestId(index: number): number {
    return this.#started.requestId(index);
  }

  samples(index: number): number {
    return this.#started.samples(index);
  }

  enqueuedNs(index: number): number {
    return this.#started.enqueuedNs(index);
  }
}
