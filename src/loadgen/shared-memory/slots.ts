/**
 * Gives out numbers below `count` so that no two holders ever have the same one. The last given back is the next given
 * out, so that few are ever in use. A number whose holder does not know whether the server is done with it comes last of
 * all, the longest ago first.
 */
export class Slots {
  readonly #count: number;
  readonly #free: number[] = [];
  readonly #doubtful: number[] = [];
  #fresh = 0;

  constructor(count: number) {
    this.#count = count;
  }

  /** -1 when all are held. */
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
