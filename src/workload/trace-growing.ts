import { BadRecord } from '#base/records.ts';

/** Ten bytes each. */
const MAX_ARRIVALS = 50_000_000;

/** Arrivals that are read one by one, in any order. */
export class GrowingArrivals {
  #timesNs = new Float64Array(1024);
  #classOf = new Uint16Array(1024);
  #length = 0;

  get length(): number {
    return this.#length;
  }

  /** Throws BadRecord if there are too many. */
  add(timeNs: number, classIndex: number): void {
    if (this.#length === this.#timesNs.length) this.#grow();
    this.#timesNs[this.#length] = timeNs;
    this.#classOf[this.#length] = classIndex;
    this.#length++;
  }

  /** The arrivals so far. */
  get arrivals(): { readonly timesNs: Float64Array; readonly classOf: Uint16Array } {
    return { timesNs: this.#timesNs.slice(0, this.#length), classOf: this.#classOf.slice(0, this.#length) };
  }

  #grow(): void {
    if (this.#length >= MAX_ARRIVALS) {
      throw new BadRecord(`the file has more than ${MAX_ARRIVALS} arrivals`, 'use a part of the file');
    }
    const [timesNs, classOf] = [new Float64Array(2 * this.#length), new Uint16Array(2 * this.#length)];
    timesNs.set(this.#timesNs);
    classOf.set(this.#classOf);
    [this.#timesNs, this.#classOf] = [timesNs, classOf];
  }
}
