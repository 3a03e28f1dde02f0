/**
 * A queue of numbers on one flat array: adding at the end and taking from the front cost the same
 * at any length.
 */
export class NumberRing {
  #values: Float64Array;
  #head = 0;
  length = 0;

  constructor(capacity = 8) {
    this.#values = new Float64Array(powerOfTwo(capacity));
  }

  push(value: number): void {
    if (this.length === this.#values.length) this.#grow();
    this.#values[(this.#head + this.length) & (this.#values.length - 1)] = value;
    this.length++;
  }

  /** Removes and returns the front value. The ring must not be empty. */
  shift(): number {
    const value = this.#values[this.#head] as number;
    this.#head = (this.#head + 1) & (this.#values.length - 1);
    this.length--;
    return value;
  }

  first(): number {
    return this.#values[this.#head] as number;
  }

  last(): number {
    return this.#values[(this.#head + this.length - 1) & (this.#values.length - 1)] as number;
  }

  setLast(value: number): void {
    this.#values[(this.#head + this.length - 1) & (this.#values.length - 1)] = value;
  }

  #grow(): void {
    const grown = new Float64Array(this.#values.length * 2);
    grown.set(this.#values.subarray(this.#head));
    grown.set(this.#values.subarray(0, this.#head), this.#values.length - this.#head);
    this.#values = grown;
    this.#head = 0;
  }
}

/**
 * The requests a batcher holds, in order of arrival, each under its running number (its position).
 * A position stays valid until `releaseTo` passes it.
 */
export class RequestRing {
  #ids: Float64Array;
  #samples: Float64Array;
  #enqueuedNs: Float64Array;
  #released = 0;
  /** One past the last position. */
  end = 0;

  constructor(capacity = 8) {
    const size = powerOfTwo(capacity);
    this.#ids = new Float64Array(size);
    this.#samples = new Float64Array(size);
    this.#enqueuedNs = new Float64Array(size);
  }

  push(id: number, samples: number, enqueuedNs: number): void {
    if (this.end - this.#released === this.#ids.length) this.#grow();
    const slot = this.end & (this.#ids.length - 1);
    this.#ids[slot] = id;
    this.#samples[slot] = samples;
    this.#enqueuedNs[slot] = enqueuedNs;
    this.end++;
  }

  id(position: number): number {
    return this.#ids[position & (this.#ids.length - 1)] as number;
  }

  samples(position: number): number {
    return this.#samples[position & (this.#ids.length - 1)] as number;
  }

  enqueuedNs(position: number): number {
    return this.#enqueuedNs[position & (this.#ids.length - 1)] as number;
  }

  /** Forgets every request before the position. */
  releaseTo(position: number): void {
    this.#released = position;
  }

  #grow(): void {
    const size = this.#ids.length * 2;
    const ids = new Float64Array(size);
    const samples = new Float64Array(size);
    const enqueuedNs = new Float64Array(size);
    for (let position = this.#released; position < this.end; position++) {
      const slot = position & (size - 1);
      ids[slot] = this.id(position);
      samples[slot] = this.samples(position);
      enqueuedNs[slot] = this.enqueuedNs(position);
    }
    this.#ids = ids;
    this.#samples = samples;
    this.#enqueuedNs = enqueuedNs;
  }
}

function powerOfTwo(atLeast: number): number {
  return 2 ** Math.ceil(Math.log2(Math.max(2, atLeast)));
}

/** Returns an array of at least twice the length with the same values at its beginning. */
export function grown(values: Float64Array): Float64Array<ArrayBuffer> {
  const longer = new Float64Array(Math.max(64, 2 * values.length));
  longer.set(values);
  return longer;
}
