import type { Device } from './types.ts';

/** An execution on the device. */
interface Running {
  readonly slot: number;
  readonly stage: number;
  /** Its duration in nanoseconds if no other stage disturbs it. */
  readonly ns: number;
  /** The slowdown by executions of its own stage. */
  readonly ownFactor: number;
  endNs: number;
  /** The current slowdown by executions of other stages. */
  stretch: number;
}

/**
 * A device in virtual time: concurrent executions slow each other according to its `interference`,
 * from moment to moment, and wait for their turn if it runs a limited number at once.
 */
export class SharedDevice {
  readonly #interference: number;
  readonly #atOnce: number;
  readonly #shares: readonly number[];
  readonly #running: Running[] = [];
  readonly #waiting: Running[] = [];
  /** Executions that run, by stage. */
  readonly #counts: Int32Array;
  #load = 0;
  #usedNs = 0;
  #usedSinceNs = 0;
  #plannedNs = Number.NaN;
  isCounting = false;

  /** `shares`: the share that an execution of each stage takes; 0 for stages that run elsewhere. */
  constructor({ interference, atOnce = Number.POSITIVE_INFINITY }: Device, shares: readonly number[]) {
    this.#interference = interference;
    this.#atOnce = atOnce;
    this.#shares = shares;
    this.#counts = new Int32Array(shares.length);
  }

  /** Adds the use of the device since the last call. */
  usedUntil(nowNs: number): void {
    if (this.isCounting) this.#usedNs += Math.min(1, this.#load) * (nowNs - this.#usedSinceNs);
    this.#usedSinceNs = nowNs;
  }

  /** The mean share in use over a count of this duration, 0 to 1. */
  utilization(spanNs: number): number {
    return this.#usedNs / spanNs;
  }

  /** An execution begins, or waits for its turn. `slot` names it until it ends. */
  begin(nowNs: number, slot: number, stage: number, ns: number, ownFactor: number): void {
    const execution = { slot, stage, ns, ownFactor, endNs: Number.POSITIVE_INFINITY, stretch: 1 };
    if (this.#running.length >= this.#atOnce) this.#waiting.push(execution);
    else this.#run(nowNs, execution);
  }

  /**
   * Ends the execution that is due now and returns its slot; −1 if none is, because others have
   * come meanwhile.
   */
  end(nowNs: number): number {
    const index = this.#running.findIndex(({ endNs }) => endNs <= nowNs);
    if (index < 0) return -1;
    this.#plannedNs = Number.NaN;
    const [ended] = this.#running.splice(index, 1) as [Running];
    this.#count(ended.stage, -1);
    const next = this.#waiting.shift();
    if (next) this.#run(nowNs, next);
    else this.#stretch(nowNs);
    return ended.slot;
  }

  /**
   * Returns when to call `end`; Infinity if it need not be called, or if the call is planned
   * already.
   */
  endToPlan(): number {
    let next = Number.POSITIVE_INFINITY;
    for (const { endNs } of this.#running) next = Math.min(next, endNs);
    if (next === this.#plannedNs) return Number.POSITIVE_INFINITY;
    this.#plannedNs = next;
    return next;
  }

  #run(nowNs: number, execution: Running): void {
    execution.endNs = nowNs + execution.ns;
    this.#running.push(execution);
    this.#count(execution.stage, 1);
    this.#stretch(nowNs);
  }

  #count(stage: number, change: number): void {
    this.#counts[stage] = (this.#counts[stage] as number) + change;
    // Summed up again, because additions and subtractions leave rounding errors.
    this.#load = this.#shares.reduce((sum, share, each) => sum + (this.#counts[each] as number) * share, 0);
  }

  /** Moves the ends of all executions according to those that run now. */
  #stretch(nowNs: number): void {
    if (this.#interference === 0) return;
    const over = Math.max(0, this.#load - 1);
    for (const execution of this.#running) {
      const { stage, ownFactor } = execution;
      const beyondOne = Math.max(0, (this.#counts[stage] as number) * (this.#shares[stage] as number) - 1);
      const stretch = 1 + (this.#interference * Math.max(0, over - beyondOne)) / ownFactor;
      if (stretch === execution.stretch) continue;
      execution.endNs = nowNs + ((execution.endNs - nowNs) * stretch) / execution.stretch;
      execution.stretch = stretch;
    }
  }
}
