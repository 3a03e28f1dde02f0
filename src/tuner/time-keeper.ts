import type { Clock } from '../base/clock.ts';
import { MS_PER_S, nsToMs } from '../base/units.ts';

/** What is kept for the final never takes more of the budget than this part. */
const MAX_RESERVE = 1 / 3;

/** What a run does when its search is over, besides putting the model back. */
interface AfterSearch {
  readonly finalRounds: number;
  /** The best is measured once more, traced. */
  readonly traced: boolean;
}

/** Holds a run to its time budget: knows what one step takes from those it has timed, and keeps time for the final. */
export class TimeKeeper {
  readonly #clock: Clock;
  readonly #budgetMs: number;
  readonly #afterSearch: AfterSearch;
  readonly #startNs: number;
  readonly #spentMs: number;
  #pausedMs = 0;
  readonly #applies = new Mean();
  readonly #measurements = new Mean();

  /** `spentMs`: what earlier runs of the study took. */
  constructor(clock: Clock, budgetMs: number, afterSearch: AfterSearch, spentMs: number) {
    this.#clock = clock;
    this.#budgetMs = budgetMs;
    this.#afterSearch = afterSearch;
    this.#startNs = clock.nowNs();
    this.#spentMs = spentMs;
  }

  /** Of all runs of the study, this one included, without pauses. */
  get elapsedMs(): number {
    return this.#spentMs + nsToMs(this.#clock.nowNs() - this.#startNs) - this.#pausedMs;
  }

  /** Seconds left for the search. */
  get searchSecondsLeft(): number {
    return Math.max(0, this.#left - this.#reserve) / MS_PER_S;
  }

  /** Nothing is kept for a final before there is anything to compare. */
  allowsTrial({ isFirst }: { readonly isFirst: boolean }): boolean {
    return this.#turn <= this.#left - (isFirst ? this.#trace : this.#reserve);
  }

  get allowsLevel(): boolean {
    return this.#measurements.value <= this.#left - this.#reserve;
  }

  /** Of so many candidates. What is traced after the final has its time kept. */
  allowsFinalRound(candidates: number): boolean {
    return candidates * this.#turn + this.#trace <= this.#left;
  }

  get allowsTrace(): boolean {
    return this.#trace <= this.#left;
  }

  /** Time that does not count. */
  async pass(pause: () => Promise<void>): Promise<void> {
    const startNs = this.#clock.nowNs();
    try {
      await pause();
    } finally {
      this.#pausedMs += nsToMs(this.#clock.nowNs() - startNs);
    }
  }

  timeApply<T>(work: () => Promise<T>): Promise<T> {
    return this.#time(this.#applies, work);
  }

  timeMeasure<T>(work: () => Promise<T>): Promise<T> {
    return this.#time(this.#measurements, work);
  }

  get #left(): number {
    return this.#budgetMs - this.elapsedMs;
  }

  /** One candidate, applied and measured. */
  get #turn(): number {
    return this.#applies.value + this.#measurements.value;
  }

  get #trace(): number {
    return this.#afterSearch.traced ? this.#turn : 0;
  }

  get #reserve(): number {
    const { finalRounds } = this.#afterSearch;
    // One round more than planned, for a side that must be measured at a lower level.
    const rounds = finalRounds === 0 ? 0 : finalRounds + 1;
    return Math.min(rounds * 2 * this.#turn + this.#trace + this.#applies.value, this.#budgetMs * MAX_RESERVE);
  }

  async #time<T>(mean: Mean, work: () => Promise<T>): Promise<T> {
    const startNs = this.#clock.nowNs();
    const outcome = await work();
    mean.add(nsToMs(this.#clock.nowNs() - startNs));
    return outcome;
  }
}

class Mean {
  #sum = 0;
  #count = 0;

  add(value: number): void {
    this.#sum += value;
    this.#count++;
  }

  /** 0 until something was added. */
  get value(): number {
    return this.#count === 0 ? 0 : this.#sum / this.#count;
  }
}
