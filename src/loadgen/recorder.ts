import { LatencyHistogram } from '../stats/histogram.ts';
import type { SendFailureKind, SendOutcome } from './types.ts';

/** The requests that completed between two moments. Consecutive batches leave no gap. */
export interface Batch {
  readonly startNs: number;
  readonly endNs: number;
  readonly succeeded: number;
  readonly failed: number;
  /** Of the successful ones. */
  readonly latencies: LatencyHistogram;
}

export interface BatchRule {
  /** A batch lasts at least this long, … */
  readonly lengthNs: number;
  /** … and holds at least so many requests, failed ones included. */
  readonly minRequests: number;
}

export interface FailureTally {
  readonly kind: SendFailureKind;
  count: number;
  readonly firstMessage: string;
}

/**
 * Sorts completed requests into batches. A batch ends with the first completion that meets its rule, and that moment is
 * its exact length: were it cut at a fixed time instead, requests that complete together, as a server's batch does, would
 * fall on one side or the other and make the rate look noisier than it is.
 */
export class Recorder {
  #rule: BatchRule | null = null;
  #onBatch: (batch: Batch) => void = () => undefined;
  #startNs = 0;
  #succeeded = 0;
  #failed = 0;
  #latencies = new LatencyHistogram();
  readonly #failures = new Map<SendFailureKind, FailureTally>();
  #unservedSinceNs: number | null = null;

  /** Begins anew at `nowNs`: what came before, failures included, is forgotten. */
  start(nowNs: number, rule: BatchRule, onBatch: (batch: Batch) => void): void {
    this.#rule = rule;
    this.#onBatch = onBatch;
    this.#failures.clear();
    this.#open(nowNs);
  }

  /** What completes from now on is not counted. */
  stop(): void {
    this.#rule = null;
  }

  record(nowNs: number, latencyNs: number, outcome: SendOutcome): void {
    if (outcome.ok) this.#unservedSinceNs = null;
    else if (outcome.kind === 'refused' || outcome.kind === 'reset') this.#unservedSinceNs ??= nowNs;
    if (this.#rule === null) return;
    if (outcome.ok) {
      this.#succeeded++;
      this.#latencies.record(latencyNs);
    } else {
      this.#failed++;
      this.#countFailure(outcome.kind, outcome.message);
    }
    if (nowNs - this.#startNs >= this.#rule.lengthNs && this.#succeeded + this.#failed >= this.#rule.minRequests) {
      this.#close(nowNs);
    }
  }

  /** Ends the open batch now if anything completed in it, whatever its rule says. */
  closeNow(nowNs: number): void {
    if (this.#rule !== null && this.#succeeded + this.#failed > 0) this.#close(nowNs);
  }

  /** Failures since `start`, by kind, each with the first message. */
  get failures(): readonly FailureTally[] {
    return [...this.#failures.values()].map((tally) => ({ ...tally }));
  }

  /** Since when every connection was refused or cut, with nothing served in between; null when the server serves. */
  get unservedSinceNs(): number | null {
    return this.#unservedSinceNs;
  }

  #open(nowNs: number): void {
    this.#startNs = nowNs;
    this.#succeeded = 0;
    this.#failed = 0;
    this.#latencies = new LatencyHistogram();
  }

  #close(nowNs: number): void {
    const batch = {
      startNs: this.#startNs,
      endNs: nowNs,
      succeeded: this.#succeeded,
      failed: this.#failed,
      latencies: this.#latencies,
    };
    this.#open(nowNs);
    this.#onBatch(batch);
  }

  #countFailure(kind: SendFailureKind, message: string): void {
    const tally = this.#failures.get(kind);
    if (tally) tally.count++;
    else this.#failures.set(kind, { kind, count: 1, firstMessage: message });
  }
}
