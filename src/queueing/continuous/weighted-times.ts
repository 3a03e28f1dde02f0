/** The largest ratio between values of one bucket. */
const RESOLUTION = 1.005;
const PER_E = 1 / Math.log(RESOLUTION);
/** One hour. */
const LONGEST_NS = 3.6e12;
/** Sums of weights may be off by this share. */
const ROUNDING = 1e-12;
const BUCKETS = Math.ceil(Math.log(LONGEST_NS) * PER_E) + 1;

/**
 * Times in nanoseconds with a weight each, in buckets of half a per cent: one step of an engine is
 * a gap of all sequences that decode.
 */
export class WeightedTimes {
  readonly #weights = new Float64Array(BUCKETS);
  #sumNs = 0;
  #total = 0;

  add(ns: number, weight: number): void {
    const bucket = Math.min(BUCKETS - 1, Math.max(0, Math.round(Math.log(ns) * PER_E)));
    this.#weights[bucket] = (this.#weights[bucket] as number) + weight;
    this.#sumNs += ns * weight;
    this.#total += weight;
  }

  /** Sum of the weights. */
  get total(): number {
    return this.#total;
  }

  /** 0 when empty. */
  get meanNs(): number {
    return this.#total > 0 ? this.#sumNs / this.#total : 0;
  }

  /**
   * Returns a function that gives the smallest time not exceeded by at least a share of the weight;
   * 0 when empty.
   */
  quantiles(): (share: number) => number {
    const ends: { readonly below: number; readonly ns: number }[] = [];
    let below = 0;
    for (let bucket = 0; bucket < BUCKETS; bucket++) {
      const weight = this.#weights[bucket] as number;
      if (weight === 0) continue;
      below += weight;
      ends.push({ below, ns: Math.exp(bucket / PER_E) });
    }
    return (share) => (ends.find((end) => end.below >= share * below * (1 - ROUNDING)) ?? ends.at(-1))?.ns ?? 0;
  }

  quantileNs(share: number): number {
    return this.quantiles()(share);
  }
}
