import type { Clock } from '../../base/clock.ts';

/** The one device that all models of an emulator share: its memory, and how busy it is. Sizes in MiB. */
export class Device {
  readonly #limitMib: number;
  readonly #reserved = new Map<object, number>();
  readonly #clock: Clock;
  #running = 0;
  #busyNs = 0;
  #busySinceNs = 0;

  constructor(limitMib: number, clock: Clock) {
    this.#limitMib = limitMib;
    this.#clock = clock;
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

  executionStarted(): void {
    if (this.#running === 0) this.#busySinceNs = this.#clock.nowNs();
    this.#running += 1;
  }

  executionEnded(): void {
    this.#running -= 1;
    if (this.#running === 0) this.#busyNs += this.#clock.nowNs() - this.#busySinceNs;
  }

  /** Nanoseconds in which at least one execution was running, since the start. */
  busyNs(): number {
    return this.#busyNs + (this.#running > 0 ? this.#clock.nowNs() - this.#busySinceNs : 0);
  }
}
