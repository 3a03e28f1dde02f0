import type { Clock } from '#base/clock.ts';
import type { ExecutionSplit } from '#queueing/service-law.ts';
import type { BatchStatistics, ModelStatistics, StatisticDuration } from '#triton/types.ts';

class Tally {
  count = 0;
  ns = 0;

  add(ns: number, times = 1): void {
    this.count += times;
    this.ns += ns * times;
  }

  reset(): void {
    this.count = 0;
    this.ns = 0;
  }

  read(): StatisticDuration {
    return { count: this.count, ns: Math.round(this.ns) };
  }
}

/**
 * Counters with Triton's meaning: per request, each compute part counts the whole batch's time; per
 * execution, the entry of its batch size counts it once. A failed execution counts there and in
 * `executionCount` only.
 */
export class VersionStatistics {
  readonly success = new Tally();
  readonly fail = new Tally();
  readonly queue = new Tally();
  readonly computeInput = new Tally();
  readonly computeInfer = new Tally();
  readonly computeOutput = new Tally();
  inferenceCount = 0;
  executionCount = 0;
  #lastInferenceMs = 0;
  readonly #batches = new Map<number, { input: Tally; infer: Tally; output: Tally }>();
  readonly #clock: Clock;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  executed(batch: number, compute: ExecutionSplit, times = 1): void {
    this.executionCount += times;
    let entry = this.#batches.get(batch);
    if (!entry) {
      entry = { input: new Tally(), infer: new Tally(), output: new Tally() };
      this.#batches.set(batch, entry);
    }
    entry.input.add(compute.inputNs, times);
    entry.infer.add(compute.inferNs, times);
    entry.output.add(compute.outputNs, times);
  }

  /** `times`: the number of requests of this kind. */
  succeeded(batch: number, queueNs: number, compute: ExecutionSplit, totalNs: number, times = 1): void {
    this.inferenceCount += batch * times;
    this.queue.add(queueNs, times);
    this.computeInput.add(compute.inputNs, times);
    this.computeInfer.add(compute.inferNs, times);
    this.computeOutput.add(compute.outputNs, times);
    this.success.add(totalNs, times);
    this.#lastInferenceMs = this.#clock.wallMs();
  }

  failed(totalNs: number): void {
    this.fail.add(totalNs);
  }

  /** Resets all counters to 0. */
  reset(): void {
    const { success, fail, queue, computeInput, computeInfer, computeOutput } = this;
    for (const tally of [success, fail, queue, computeInput, computeInfer, computeOutput]) tally.reset();
    this.inferenceCount = 0;
    this.executionCount = 0;
    this.#batches.clear();
  }

  read(name: string, version: string, memoryUsage: ModelStatistics['memoryUsage']): ModelStatistics {
    return {
      name,
      version,
      lastInferenceMs: this.#lastInferenceMs,
      inferenceCount: this.inferenceCount,
      executionCount: this.executionCount,
      success: this.success.read(),
      fail: this.fail.read(),
      queue: this.queue.read(),
      computeInput: this.computeInput.read(),
      computeInfer: this.computeInfer.read(),
      computeOutput: this.computeOutput.read(),
      cacheHit: { count: 0, ns: 0 },
      cacheMiss: { count: 0, ns: 0 },
      batchStats: this.#readBatches(),
      memoryUsage,
    };
  }

  #readBatches(): BatchStatistics[] {
    return [...this.#batches]
      .sort(([a], [b]) => a - b)
      .map(([batchSize, entry]) => ({
        batchSize,
        computeInput: entry.input.read(),
        computeInfer: entry.infer.read(),
        computeOutput: entry.output.read(),
      }));
  }
}
