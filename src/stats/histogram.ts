import { Int32Histogram } from 'hdr-histogram-js';

/** One hour; a longer latency counts as this. */
const HIGHEST_NS = 3.6e12;
const SIGNIFICANT_DIGITS = 3;

/** The buckets of a histogram, to be sent to another thread; `cells.buffer` may be transferred. */
export interface PackedHistogram {
  /** Index and count of each non-empty bucket, alternating. */
  readonly cells: Uint32Array<ArrayBuffer>;
  readonly sumNs: number;
  readonly minNs: number;
  readonly maxNs: number;
}

const newBuckets = (): Int32Histogram => new Int32Histogram(1, HIGHEST_NS, SIGNIFICANT_DIGITS);

/** Converts between latencies and indices of buckets for all histograms. */
const scale = newBuckets();

/** Number of buckets; their indices are below it. */
export const BUCKETS = scale.countsArrayLength;

/**
 * A histogram of latencies in nanoseconds, from 1 ns to one hour, in constant memory (about 130
 * KiB, from the first latency on). Quantiles have a relative error of at most 0.1 %; count, mean,
 * minimum and maximum are exact. An unpacked histogram takes only the memory of its non-empty
 * buckets while it is only counted and merged: the memory of hundreds would keep the garbage
 * collector busy during a measurement.
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

  /** Empties it and keeps the memory. */
  reset(): void {
    this.#packed = null;
    this.#buckets?.reset();
    this.#sumNs = 0;
    this.#minNs = Number.POSITIVE_INFINITY;
    this.#maxNs = 0;
  }

  get count(): number {
    return this.#packed ? countValues(this.#packed) : (this.#buckets?.totalCount ?? 0);
  }

  /** 0 when empty. */
  get meanNs(): number {
    return this.count === 0 ? 0 : this.#sumNs / this.count;
  }

  /**
   * Sample standard deviation (n − 1), to the resolution of the histogram; 0 for fewer than two
   * values.
   */
  get standardDeviationNs(): number {
    if (this.count < 2 || this.#minNs === this.#maxNs) return 0;
    const last = toBucket(this.#maxNs);
    let squares = 0;
    for (let index = toBucket(this.#minNs); index <= last; index++) {
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

  /**
   * Returns the smallest latency that at least the share `p` (0 to 1) of all requests did not
   * exceed; 0 when empty.
   */
  quantileNs(p: number): number {
    const { count } = this;
    if (count === 0) return 0;
    // Products of fractions may be a rounding error above the whole rank.
    const rank = Math.max(1, Math.ceil(Math.min(p, 1) * count * (1 - Number.EPSILON)));
    const last = toBucket(this.#maxNs);
    let index = toBucket(this.#minNs);
    for (let left = rank - this.#counts.getCountAtIndex(index); left > 0 && index < last; )
      left -= this.#counts.getCountAtIndex(++index);
    const middle = scale.medianEquivalentValue(scale.valueFromIndex(index));
    return Math.min(Math.max(middle, this.#minNs), this.#maxNs);
  }

  /** Returns the number of requests above `latencyNs`, to the resolution of the histogram. */
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
    const last = toBucket(this.#maxNs);
    for (let index = bucket + 1; index <= last; index++) above += this.#counts.getCountAtIndex(index);
    return above;
  }

  /** Packs the non-empty buckets. */
  pack(): PackedHistogram {
    const about = { sumNs: this.#sumNs, minNs: this.#minNs, maxNs: this.#maxNs };
    if (this.count === 0) return { cells: new Uint32Array(0), ...about };
    const [first, last] = [toBucket(this.#minNs), toBucket(this.#maxNs)];
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

  /** Returns the packed histogram, equal bucket by bucket. */
  static unpack(packed: PackedHistogram): LatencyHistogram {
    const histogram = new LatencyHistogram();
    histogram.#packed = packed;
    histogram.#sumNs = packed.sumNs;
    histogram.#minNs = packed.minNs;
    histogram.#maxNs = packed.maxNs;
    return histogram;
  }

  /** Returns the sum of all, at a cost proportional to the non-empty buckets. */
  static merged(all: readonly PackedHistogram[]): LatencyHistogram {
    const [first, ...others] = all;
    if (first === undefined) return new LatencyHistogram();
    return LatencyHistogram.unpack(others.length === 0 ? first : sumHistograms(all));
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

  /**
   * Adds the other's requests, multiplied by a factor; counts are rounded so that each of their
   * sums is off by at most a half.
   */
  mergeTimes(other: LatencyHistogram, times: number): void {
    if (times === 1) {
      this.merge(other);
      return;
    }
    let [exact, added] = [0, 0];
    eachCell(other.pack(), (index, count) => {
      exact += count * times;
      const whole = Math.round(exact) - added;
      added += whole;
      if (whole > 0) this.#counts.recordValueWithCount(scale.valueFromIndex(index), whole);
    });
    if (added === 0) return;
    this.#sumNs += other.meanNs * added;
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

const toBucket = (ns: number): number => scale.countsArrayIndex(Math.min(Math.round(ns), HIGHEST_NS));

function eachCell({ cells }: PackedHistogram, take: (index: number, count: number) => void): void {
  for (let at = 0; at < cells.length; at += 2) take(cells[at] as number, cells[at + 1] as number);
}

function addCells(buckets: Int32Histogram, packed: PackedHistogram): void {
  eachCell(packed, (index, count) => buckets.recordValueWithCount(scale.valueFromIndex(index), count));
}

function sumHistograms(all: readonly PackedHistogram[]): PackedHistogram {
  const counts = new Uint32Array(BUCKETS);
  let [sumNs, minNs, maxNs] = [0, Number.POSITIVE_INFINITY, 0];
  for (const packed of all) {
    eachCell(packed, (index, count) => {
      counts[index] = (counts[index] as number) + count;
    });
    sumNs += packed.sumNs;
    minNs = Math.min(minNs, packed.minNs);
    maxNs = Math.max(maxNs, packed.maxNs);
  }
  const filled = counts.reduce((filled, count) => (count > 0 ? filled + 1 : filled), 0);
  const cells = new Uint32Array(2 * filled);
  let at = 0;
  for (const [index, count] of counts.entries()) {
    if (count === 0) continue;
    cells[at++] = index;
    cells[at++] = count;
  }
  return { cells, sumNs, minNs, maxNs };
}

function countValues(packed: PackedHistogram): number {
  let total = 0;
  eachCell(packed, (_, count) => {
    total += count;
  });
  return total;
}
