/**
 * The memory of the GPUs, or of the one CPU, that all models of an emulator share. Sizes in MiB.
 */
export class DeviceMemory {
  /** Memory of one GPU. */
  readonly limitMib: number;
  readonly #gpus: number;
  readonly #reserved = new Map<object, readonly number[]>();

  constructor(limitMib: number, gpus = 1) {
    this.limitMib = limitMib;
    this.#gpus = gpus;
  }

  /** Returns what all models use of a GPU. */
  usedMib(gpu = 0): number {
    let sum = 0;
    for (const mibs of this.#reserved.values()) sum += mibs[gpu] ?? 0;
    return sum;
  }

  /** Returns what `owner` holds, by GPU. */
  heldMib(owner: object): readonly number[] {
    return this.#reserved.get(owner) ?? [];
  }

  /**
   * Sets what `owner` holds, by GPU. If that does not fit on one of them, nothing changes, and
   * `missingMib` is above 0: that of the GPU that lacks most. `isBeside`: the old memory is only
   * released once the new exists, so both must fit.
   */
  reserve(
    owner: object,
    mibs: readonly number[],
    { isBeside }: { readonly isBeside: boolean },
  ): { readonly missingMib: number } {
    const held = isBeside ? [] : this.heldMib(owner);
    const missing = Array.from(
      { length: this.#gpus },
      (_, gpu) => this.usedMib(gpu) - (held[gpu] ?? 0) + (mibs[gpu] ?? 0) - this.limitMib,
    );
    const missingMib = Math.max(...missing);
    if (missingMib > 0) return { missingMib };
    this.#reserved.set(owner, mibs);
    return { missingMib: 0 };
  }

  release(owner: object): void {
    this.#reserved.delete(owner);
  }
}
