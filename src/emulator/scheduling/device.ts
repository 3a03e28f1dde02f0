/** The memory of the one device that all models of an emulator share. Sizes in MiB. */
export class Device {
  readonly #limitMib: number;
  readonly #reserved = new Map<object, number>();

  constructor(limitMib: number) {
    this.#limitMib = limitMib;
  }

  get limitMib(): number {
    return this.#limitMib;
  }

  get usedMib(): number {
    let sum = 0;
    for (const mib of this.#reserved.values()) sum += mib;
    return sum;
  }

  heldMib(owner: object): number {
    return this.#reserved.get(owner) ?? 0;
  }

  /**
   * Sets what `owner` holds; when that does not fit nothing changes, and `missingMib` is above 0. `isBeside`: what it holds goes only
   * when the new is there, so that both must fit.
   */
  reserve(owner: object, mib: number, { isBeside }: { readonly isBeside: boolean }): { readonly missingMib: number } {
    const missingMib = this.usedMib - (isBeside ? 0 : this.heldMib(owner)) + mib - this.#limitMib;
    if (missingMib > 0) return { missingMib };
    this.#reserved.set(owner, mib);
    return { missingMib: 0 };
  }

  release(owner: object): void {
    this.#reserved.delete(owner);
  }
}
