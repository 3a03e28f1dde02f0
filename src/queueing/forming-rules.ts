import type { BatcherPolicy } from './batcher-policy.ts';
import type { RequestRing } from './ring.ts';

/**
 * The rules by which Triton's batcher thread puts queued requests into its batch: preferred sizes,
 * the largest batch, and the delay of the oldest request. Holds the thread's state between two
 * checks of the queue.
 */
export class FormingRules {
  readonly maxSamples: number;
  readonly delayNs: number;
  readonly #preferred: readonly number[];
  readonly #largestPreferred: number;

  /** True when the batch gets no more requests and the next one begins another. */
  isSaturated = false;
  /** The number of queued samples from which on an arrival wakes the batcher. */
  samplesToWake = 0;

  constructor({ maxBatchSize, preferredBatchSizes, maxQueueDelayNs, dynamicBatching }: BatcherPolicy) {
    const preferred = [...new Set(preferredBatchSizes)].sort((a, b) => a - b);
    this.maxSamples = Math.max(1, maxBatchSize);
    this.delayNs = dynamicBatching ? maxQueueDelayNs : 0;
    this.#preferred = preferred.length > 0 || maxBatchSize === 0 ? preferred : [maxBatchSize];
    this.#largestPreferred = this.#preferred.at(-1) ?? 0;
  }

  startBatch(): void {
    this.isSaturated = false;
    this.samplesToWake = 0;
  }

  /**
   * Returns the number of requests from `start` on to add to the batch, which holds `held` samples
   * already; -1: none before the delay has passed.
   */
  choose(requests: RequestRing, start: number, held: number, nowNs: number): number {
    let samples = held;
    let position = start;
    let best = 0;
    let full = false;
    for (; position < requests.end; position++) {
      const next = samples + requests.samples(position);
      if (samples > 0) {
        if (next > this.#largestPreferred && best === 0) {
          best = position - start;
          this.isSaturated = true;
        }
        if (next > this.maxSamples) {
          full = true;
          break;
        }
      }
      samples = next;
      if (this.#preferred.includes(samples)) best = position + 1 - start;
    }
    const pending = position - start;
    const hasDelay = this.delayNs > 0;
    const late = hasDelay && nowNs >= requests.enqueuedNs(start) + this.delayNs;
    if (best > 0 && !late) {
      if (!hasDelay) this.isSaturated = true;
      return best;
    }
    if (pending === 0) return 0;
    if (full || samples >= this.#largestPreferred) {
      this.isSaturated = true;
      return pending;
    }
    if (late || !hasDelay) return pending;
    const goal = this.#preferred.find((size) => size > samples) ?? (this.#preferred[0] as number);
    this.samplesToWake = goal - held;
    // A batch that was formed at an odd size is topped up at once and not held back for a better
    // one.
    if (!this.isSaturated && held > 0 && !this.#preferred.includes(held)) return pending;
    return -1;
  }
}
