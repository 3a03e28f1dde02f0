import { NS_PER_S } from '#base/units.ts';
import type { StepWork } from '#queueing/continuous/step-law.ts';

/** Why a generation ended, in vLLM's words. */
export type FinishReason = 'stop' | 'length' | 'abort';

/**
 * Bounds of the time buckets in seconds: from a millisecond to minutes, as on the engines' pages.
 */
const SECONDS = [
  0.001, 0.0025, 0.005, 0.01, 0.02, 0.04, 0.06, 0.08, 0.1, 0.25, 0.5, 0.75, 1, 2.5, 5, 7.5, 10, 20, 40, 80, 160,
];
const TOKENS = [1, 8, 16, 32, 64, 128, 256, 512, 1024, 2048, 4096, 8192, 16384];

/** A histogram in Prometheus's form: each bucket counts the values up to its bound. */
export class BucketCounts {
  readonly bounds: readonly number[];
  readonly #counts: number[];
  sum = 0;
  count = 0;

  constructor(bounds: readonly number[]) {
    this.bounds = bounds;
    this.#counts = bounds.map(() => 0);
  }

  add(value: number): void {
    this.sum += value;
    this.count++;
    const bucket = this.bounds.findIndex((bound) => value <= bound);
    if (bucket >= 0) this.#counts[bucket] = (this.#counts[bucket] as number) + 1;
  }

  /** The number of values up to each bound. */
  get cumulative(): readonly number[] {
    let sum = 0;
    return this.#counts.map((count) => {
      sum += count;
      return sum;
    });
  }
}

/** Counters of an engine since its start. */
export class EngineCounters {
  promptTokens = 0;
  generationTokens = 0;
  cachedTokens = 0;
  readonly finishedBy = new Map<FinishReason, number>([
    ['stop', 0],
    ['length', 0],
    ['abort', 0],
  ]);
  readonly ttftS = new BucketCounts(SECONDS);
  readonly interTokenS = new BucketCounts(SECONDS);
  readonly endToEndS = new BucketCounts(SECONDS);
  readonly queueS = new BucketCounts(SECONDS);
  readonly stepTokens = new BucketCounts(TOKENS);

  admitted(promptTokens: number, cachedTokens: number, queueNs: number): void {
    this.promptTokens += promptTokens;
    this.cachedTokens += cachedTokens;
    this.queueS.add(queueNs / NS_PER_S);
  }

  stepped({ prefillTokens, decoding }: StepWork): void {
    this.stepTokens.add(prefillTokens + decoding);
  }

  /**
   * Records a token. `firstNs`: the time to it if it was the first; `gapNs`: the time since the
   * previous one.
   */
  emitted(firstNs: number | null, gapNs: number): void {
    this.generationTokens++;
    if (firstNs === null) this.interTokenS.add(gapNs / NS_PER_S);
    else this.ttftS.add(firstNs / NS_PER_S);
  }

  finished(reason: FinishReason, endToEndNs: number): void {
    this.finishedBy.set(reason, (this.finishedBy.get(reason) ?? 0) + 1);
    if (reason !== 'abort') this.endToEndS.add(endToEndNs / NS_PER_S);
  }
}
