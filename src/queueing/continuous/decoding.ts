import { EventHeap } from '../event-heap.ts';
import type { Progress } from './progress.ts';

/**
 * The sequences that decode. Each emits a token in every decoding step, so that a step costs the same however many there are: what a sequence has emitted
 * follows from the number of the step.
 */
export class Decoding {
  /** Decoding steps so far. */
  steps = 0;
  count = 0;
  /** Σ needed − decodesFrom, over the sequences. */
  #offsets = 0;
  /** Ends by the step with which they come. Those are stale whose sequence decodes no more, or ends later. */
  readonly #ends = new EventHeap();
  readonly #byId: ReadonlyMap<number, Progress>;

  constructor(byId: ReadonlyMap<number, Progress>) {
    this.#byId = byId;
  }

  /** Tokens that the next step attends to: all of each sequence, its newest included. */
  get contextTokens(): number {
    return this.#offsets + this.count * (this.steps + 1);
  }

  /** Steps to the end of the first sequence that ends, the one with its last token included; Infinity without any. */
  get stepsToEnd(): number {
    return this.#nextEnd() - this.steps + 1;
  }

  /** A sequence whose needed tokens are computed decodes from the next step on. */
  join(progress: Progress): void {
    progress.state = 'decoding';
    progress.decodesFrom = this.steps;
    progress.finishesAt = this.steps + progress.sequence.outputTokens - progress.emitted - 1;
    this.count++;
    this.#offsets += progress.needed - progress.decodesFrom;
    this.#ends.add(progress.finishesAt, progress.id);
  }

  /** A sequence decodes no more; writes down what it has emitted and computed. */
  leave(progress: Progress): void {
    const steps = this.steps - progress.decodesFrom;
    this.count--;
    this.#offsets -= progress.needed - progress.decodesFrom;
    progress.emitted += steps;
    progress.computed = progress.needed + steps;
  }

  /** Returns a sequence whose last token has come, each once; undefined when there is none. It decodes until it leaves. */
  takeEnded(): Progress | undefined {
    return this.#nextEnd() < this.steps ? this.#byId.get(this.#ends.take()) : undefined;
  }

  #nextEnd(): number {
    while (this.#ends.length > 0) {
      const progress = this.#byId.get(this.#ends.first);
      if (progress?.state === 'decoding' && progress.finishesAt === this.#ends.nextNs) break;
      this.#ends.take();
    }
    return this.#ends.nextNs;
  }
}
