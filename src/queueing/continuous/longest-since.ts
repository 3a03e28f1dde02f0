/** Answers how long the longest of the latest values was. Values come with rising numbers. */
export class LongestSince {
  /** Values none of which has a larger or equal one after it, with their numbers. */
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

  /** Returns the largest value whose number is at least `number`; 0 where there is none. */
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
