import type { Random } from '../../../base/random.ts';

/**
 * Keeps a random choice of a stream of items of unknown length, every item as likely as any other, in the order in which they came
 * (Vitter, Random Sampling with a Reservoir, 1985, algorithm R).
 */
export class Reservoir<T> {
  readonly #most: number;
  readonly #random: Random;
  readonly #kept: { readonly item: T; readonly number: number }[] = [];
  #seen = 0;

  constructor(most: number, random: Random) {
    this.#most = most;
    this.#random = random;
  }

  get seen(): number {
    return this.#seen;
  }

  add(item: T): void {
    const number = this.#seen++;
    const place = number < this.#most ? number : this.#random.int(0, number);
    if (place < this.#most) this.#kept[place] = { item, number };
  }

  /** Those that were kept, in the order in which they came. */
  get items(): readonly T[] {
    return this.#kept.toSorted((one, other) => one.number - other.number).map(({ item }) => item);
  }
}
