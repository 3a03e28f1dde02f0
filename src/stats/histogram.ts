import { Int32Histogram } from 'hdr-histogram-js';

/** One hour. A longer latency is counted as this long. */
const HIGHEST_NS = 3.6e12;
const SIGNIFICANT_DIGITS = 3;

/** The buckets of a histogram as a thread can hand them to another; `counts.buffer` may be transferred. */
export interface PackedHistogram {
  /** Index of the first bucket in `counts`; the others follow it, up to the last that is not empty. */
  readonly first: number;
  readonly counts: Uint32Array<ArrayBuffer>;
  readonly sumNs: number;
  readonly minNs: number;
  readonly maxNs: number;
}

/**
 * Latencies in nanoseconds, from 1 ns to one hour, in constant memory (about 130 KiB). Quantiles have a relative error
 * of at most 0.1 %; count, mean, smallest and largest are exact.
 */
export class LatencyHistogram {
  readonly #counts = new Int32Histogram(1, HIGHEST_NS, SIGNIFICANT_DIGITS);
  #sumNs = 0;
  #minNs = Number.POSITIVE_INFINITY;
  #maxNs = 0;

  record(latencyNs: number): void {
    const ns = Math.max(latencyNs, 0);
    this.#counts.recordValue(Math.min(Math.round(ns), HIGHEST_NS));
    this.#sumNs += ns;
    if (ns < this.#minNs) this.#minNs = ns;
    if (ns > this.#maxNs) this.#maxNs = ns;
  }

  /** Empty again, in the same memory. */
  reset(): void {
    this.#counts.reset();
    this.#sumNs = 0;
    this.#minNs = Number.POSITIVE_INFINITY;
    this.#maxNs = 0;
  }

  get count(): number {
    return this.#counts.totalCount;
  }

  /** 0 when empty. */
  get meanNs(): number {
    return this.count === 0 ? 0 : this.#sumNs / this.count;
  }

  /** Of the sample (n − 1), to the resolution of the histogram; 0 for fewer than two. */
  get standardDeviationNs(): number {
    if (this.count < 2 || this.#minNs === this.#maxNs) return 0;
    const last = bucketOf(this.#counts, this.#maxNs);
    let squares = 0;
    for (let index = bucketOf(this.#counts, this.#minNs); index <= last; index++) {
      const count = this.#counts.getCountAtIndex(index);
      if (count === 0) continue;
      squares += count * (this.#counts.medianEquivalentValue(this.#counts.valueFromIndex(index)) - this.meanNs) ** 2;
    }
    return Math.sqrt(squares / (this.count - 1));
  }

  /** 0 when empty. */
  get minNs(): number {
    return this.count === 0 ? 0 : this.#minNs;
  }

  /** 0 when empty. */
  get maxNs(): number {
    return this.#maxNs;
  }

  /** The smallest latency that at least the share `p` (0 to 1) of all requests did not exceed; 0 when empty. */
  quantileNs(p: number): number {
    if (this.count === 0) return 0;
    const middle = this.#counts.medianEquivalentValue(this.#counts.getValueAtPercentile(p * 100));
    return Math.min(Math.max(middle, this.#minNs), this.#maxNs);
  }

  /** How many requests took longer than `latencyNs`, to the resolution of the histogram. */
  countAbove(latencyNs: number): number {
    if (latencyNs >= this.#maxNs) return 0;
    const last = bucketOf(this.#counts, this.#maxNs);
    let above = 0;
    for (let index = this.#counts.countsArrayIndex(Math.round(latencyNs)) + 1; index <= last; index++) {
      above += this.#counts.getCountAtIndex(index);
    }
    return above;
  }

  /** Everything that it holds, in the space that its smallest and largest latency span. */
  pack(): PackedHistogram {
    const first = bucketOf(this.#counts, this.minNs);
    const counts = new Uint32Array(this.count === 0 ? 0 : bucketOf(this.#counts, this.maxNs) - first + 1);
    for (let at = 0; at < counts.length; at++) counts[at] = this.#counts.getCountAtIndex(first + at);
    return { first, counts, sumNs: this.#sumNs, minNs: this.#minNs, maxNs: this.#maxNs };
  }

  /** The histogram that was packed: bucket by bucket the same. */
  static unpack({ first, counts, sumNs, minNs, maxNs }: PackedHistogram): LatencyHistogram {
    const histogram = new LatencyHistogram();
    counts.forEach((count, at) => {
      if (count > 0) histogram.#counts.recordValueWithCount(histogram.#counts.valueFromIndex(first + at), count);
    });
    histogram.#sumNs = sumNs;
    histogram.#minNs = minNs;
    histogram.#maxNs = maxNs;
    return histogram;
  }

  /** Adds all of the other's requests to this one. */
  merge(other: LatencyHistogram): void {
    if (other.count === 0) return;
    this.#counts.add(other.#counts);
    this.#sumNs += other.#sumNs;
    this.#minNs = Math.min(this.#minNs, other.#minNs);
    this.#maxNs = Math.max(this.#maxNs, other.#maxNs);
  }
}

const bucketOf = (counts: Int32Histogram, ns: number): number =>
  counts.countsArrayIndex(Math.min(Math.round(ns), HIGHEST_NS));
