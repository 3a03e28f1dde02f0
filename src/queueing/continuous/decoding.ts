import { EventHeap } from '../event-heap.ts';
import type { Progress } from './progress.ts';

/**
 * The decoding sequences. Each emits a token in every decoding step, so a step costs the same for
 * any number of them: the number of the step gives the tokens that a sequence has emitted.
 */
export class Decoding {
  /** Decoding steps so far. */
  steps = 0;
  count = 0;
  /** Σ needed − decodesFrom, over the sequences. */
  #offsets = 0;
  /**
   * Ends of sequences, by the step of each. An entry is stale if its sequence no longer decodes, or
   * ends later.
   */
  readonly #ends = new EventHeap();
  readonly #byId: ReadonlyMap<number, Progress>;

  constructor(byId: ReadonlyMap<number, Progress>) {
    this.#byId = byId;
  }

  /** Tokens that the next step attends to: all of each sequence, including its newest. */
  get contextTokens(): number {
    return this.#offsets + this.count * (this.steps + 1);
  }

  /**
   * Steps to the end of the first sequence to end, including the one with its last token; Infinity
   * without any.
   */
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

  /** A sequence stops decoding; records the tokens that it has emitted and computed. */
  leave(progress: Progress): void {
    const steps = this.steps - progress.decodesFrom;
    this.count--;
    this.#offsets -= progress.needed - progress.decodesFrom;
    progress.emitted += steps;
    progress.computed = progress.needed + steps;
  }

  /**
   * Returns a sequence whose last token has been emitted, each once; undefined if there is none. It
   * decodes until it leaves.
   */
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
