/** Returns the longest of the latest values. Values come with rising numbers. */
export class LongestSince {
  /** Values with no larger or equal one after them, with their numbers. */
  #numbers: number[] = [];
  #values: number[] = [];

  add(number: number, value: number): void {
    while (this.#values.length > 0 && (this.#values.at(-1) as number) <= value) {
      this.#values.pop();
      this.#numbers.pop();
    }
    this.#values.push(value);
    this.#numbers.push(number);
  }

  /** Returns the largest value with a number of at least `number`; 0 if there is none. */
  since(number: number): number {
    let [low, high] = [0, this.#numbers.length];
    while (low < high) {
      const middle = (low + high) >> 1;
      if ((this.#numbers[middle] as number) < number) low = middle + 1;
      else high = middle;
    }
    return this.#values[low] ?? 0;
  }
}
