import type { Random } from '#base/random.ts';

/**
 * Keeps a random selection from a stream of unknown length, each item equally likely, in order of
 * arrival (Vitter, Random Sampling with a Reservoir, 1985, algorithm R).
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

  /** The kept items, in order of arrival. */
  get items(): readonly T[] {
    return this.#kept.toSorted((one, other) => one.number - other.number).map(({ item }) => item);
  }
}
