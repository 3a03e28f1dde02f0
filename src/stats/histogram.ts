import { Int32Histogram } from 'hdr-histogram-js';

/** One hour. A longer latency is counted as this long. */
const HIGHEST_NS = 3.6e12;
const SIGNIFICANT_DIGITS = 3;

/** The buckets of a histogram as a thread can hand them to another; `cells.buffer` may be transferred. */
export interface PackedHistogram {
  /** Index and count of each bucket that is not empty, one after the other. */
  readonly cells: Uint32Array<ArrayBuffer>;
  readonly sumNs: number;
  readonly minNs: number;
  readonly maxNs: number;
}

const newBuckets = (): Int32Histogram => new Int32Histogram(1, HIGHEST_NS, SIGNIFICANT_DIGITS);

/** For what all histograms have in common: which bucket is of which latency. */
const scale = newBuckets();

/**
 * Latencies in nanoseconds, from 1 ns to one hour, in constant memory (about 130 KiB, from the first latency on). Quantiles have a relative error
 * of at most 0.1 %; count, mean, smallest and largest are exact. One that was unpacked takes only what its buckets need as long as it
 * is but counted and merged into others: the memory of hundreds would keep the garbage collector busy beside a measurement.
 */
export class LatencyHistogram {
  #buckets: Int32Histogram | null = null;
  #packed: PackedHistogram | null = null;
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
    this.#packed = null;
    this.#buckets?.reset();
    this.#sumNs = 0;
    this.#minNs = Number.POSITIVE_INFINITY;
    this.#maxNs = 0;
  }

  get count(): number {
    return this.#packed ? countOf(this.#packed) : (this.#buckets?.totalCount ?? 0);
  }

  /** 0 when empty. */
  get meanNs(): number {
    return this.count === 0 ? 0 : this.#sumNs / this.count;
  }

  /** Of the sample (n − 1), to the resolution of the histogram; 0 for fewer than two. */
  get standardDeviationNs(): number {
    if (this.count < 2 || this.#minNs === this.#maxNs) return 0;
    const last = bucketOf(this.#maxNs);
    let squares = 0;
    for (let index = bucketOf(this.#minNs); index <= last; index++) {
      const count = this.#counts.getCountAtIndex(index);
      if (count === 0) continue;
      squares += count * (scale.medianEquivalentValue(scale.valueFromIndex(index)) - this.meanNs) ** 2;
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
    const bucket = scale.countsArrayIndex(Math.round(latencyNs));
    let above = 0;
    if (this.#packed) {
      eachCell(this.#packed, (index, count) => {
        if (index > bucket) above += count;
      });
      return above;
    }
    const last = bucketOf(this.#maxNs);
    for (let index = bucket + 1; index <= last; index++) above += this.#counts.getCountAtIndex(index);
    return above;
  }

  /** Everything that it holds, in the space that its buckets with anything in them need. */
  pack(): PackedHistogram {
    const about = { sumNs: this.#sumNs, minNs: this.#minNs, maxNs: this.#maxNs };
    if (this.count === 0) return { cells: new Uint32Array(0), ...about };
    const [first, last] = [bucketOf(this.#minNs), bucketOf(this.#maxNs)];
    let filled = 0;
    for (let index = first; index <= last; index++) if (this.#counts.getCountAtIndex(index) > 0) filled++;
    const cells = new Uint32Array(2 * filled);
    let at = 0;
    for (let index = first; index <= last; index++) {
      const count = this.#counts.getCountAtIndex(index);
      if (count === 0) continue;
      cells[at++] = index;
      cells[at++] = count;
    }
    return { cells, ...about };
  }

  /** The histogram that was packed: bucket by bucket the same. */
  static unpack(packed: PackedHistogram): LatencyHistogram {
    const histogram = new LatencyHistogram();
    histogram.#packed = packed;
    histogram.#sumNs = packed.sumNs;
    histogram.#minNs = packed.minNs;
    histogram.#maxNs = packed.maxNs;
    return histogram;
  }

  /** Adds all of the other's requests to this one. */
  merge(other: LatencyHistogram): void {
    if (other.count === 0) return;
    if (other.#packed) addCells(this.#counts, other.#packed);
    else this.#counts.add(other.#counts);
    this.#sumNs += other.#sumNs;
    this.#minNs = Math.min(this.#minNs, other.#minNs);
    this.#maxNs = Math.max(this.#maxNs, other.#maxNs);
  }

  get #counts(): Int32Histogram {
    if (this.#buckets === null) {
      this.#buckets = newBuckets();
      if (this.#packed) addCells(this.#buckets, this.#packed);
      this.#packed = null;
    }
    return this.#buckets;
  }
}

const bucketOf = (ns: number): number => scale.countsArrayIndex(Math.min(Math.round(ns), HIGHEST_NS));

function eachCell({ cells }: PackedHistogram, take: (index: number, count: number) => void): void {
  for (let at = 0; at < cells.length; at += 2) take(cells[at] as number, cells[at + 1] as number);
}

function addCells(buckets: Int32Histogram, packed: PackedHistogram): void {
  eachCell(packed, (index, count) => buckets.recordValueWithCount(scale.valueFromIndex(index), count));
}

function countOf(packed: PackedHistogram): number {
  let total = 0;
  eachCell(packed, (_, count) => {
    total += count;
  });
  return total;
}
