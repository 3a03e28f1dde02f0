/**
 * Hands out numbers below `count` so that no two holders ever have the same one. The number
 * returned last is handed out next, so that few are ever in use. A number that the server may still
 * use comes last, the longest returned first.
 */
export class Slots {
  readonly #count: number;
  readonly #free: number[] = [];
  readonly #doubtful: number[] = [];
  #fresh = 0;

  constructor(count: number) {
    this.#count = count;
  }

  /** Returns -1 if all are held. */
  take(): number {
    const free = this.#free.pop();
    if (free !== undefined) return free;
    if (this.#fresh < this.#count) return this.#fresh++;
    return this.#doubtful.shift() ?? -1;
  }

  giveBack(slot: number): void {
    this.#free.push(slot);
  }

  /** As `giveBack`, of a slot into which the server may still write. */
  giveBackInDoubt(slot: number): void {
    this.#doubtful.push(slot);
  }
}
