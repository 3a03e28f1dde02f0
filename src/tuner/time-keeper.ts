import type { Clock } from '../base/clock.ts';
import { MS_PER_S, nsToMs } from '../base/units.ts';
import type { Pace } from '../study/types.ts';

/** Steps get longer as the search comes to higher levels: each counts for so much less than the one after it. */
const REMEMBERED = 0.7;
/** A run keeps within these parts of what such runs take where little is lost by it, so that it is known beforehand. */
const LEAST_OF_USUAL = 0.85;
const MOST_OF_USUAL = 1.1;
/** So many candidates put on the server tell what that takes; the first is there already. */
const APPLIES_TO_KNOW = 4;
/** What is kept for the final never takes more of the budget than this part. */
const MAX_RESERVE = 1 / 3;

/** What a run does when its search is over, besides putting the model back. */
interface AfterSearch {
  readonly finalRounds: number;
  /** The best is measured once more, traced. */
  readonly traced: boolean;
}

/** What runs of a kind take as a rule, their final included. */
export interface UsualTime {
  readonly seconds: number;
  /** It is for the run to take much longer only where that is worth a lot. */
  readonly isAim: boolean;
  /** Loads in it, and what each was thought to take; where they turn out to be faster, so is the run. */
  readonly loads: number;
  readonly loadSeconds: number;
}

/** How long a run may take, Infinity for no limit, and does as a rule. */
interface Allowed {
  readonly timeBudgetMs: number;
  readonly usual?: UsualTime;
}

/** Holds a run to its time budget: knows what one step takes from those it has timed, and keeps time for the final. */
export class TimeKeeper {
  readonly #clock: Clock;
  readonly #budgetMs: number;
  readonly #usual: UsualTime | undefined;
  readonly #afterSearch: AfterSearch;
  readonly #startNs: number;
  readonly #spentMs: number;
  #pausedMs = 0;
  readonly #applies = new Mean();
  readonly #measurements = new Mean();

  /** `spentMs`: what earlier runs of the study took. */
  constructor(clock: Clock, { timeBudgetMs, usual }: Allowed, afterSearch: AfterSearch, spentMs: number) {
    this.#clock = clock;
    this.#budgetMs = timeBudgetMs;
    this.#usual = usual;
    this.#afterSearch = afterSearch;
    this.#startNs = clock.nowNs();
    this.#spentMs = spentMs;
  }

  /** Milliseconds of all runs of the study, this one included, without pauses. */
  get elapsedMs(): number {
    return this.#spentMs + nsToMs(this.#clock.nowNs() - this.#startNs) - this.#pausedMs;
  }

  /** Seconds left for the search. */
  get searchSecondsLeft(): number {
    return Math.max(0, this.#left - this.#reserve) / MS_PER_S;
  }

  /** What such runs take as a rule, by how long loads take here; null where nothing says so. */
  get usualSeconds(): number | null {
    return this.#usual ? this.#usualMsOf(this.#usual) / MS_PER_S : null;
  }

  /** Beside what is usual: the whole run, were the search to end now, or after another trial. */
  paceOf(finalRounds: number): Pace | null {
    if (!this.#usual) return null;
    const usualMs = this.#usualMsOf(this.#usual);
    const wholeMs = this.elapsedMs + this.#afterRounds(finalRounds);
    if (wholeMs < LEAST_OF_USUAL * usualMs) return 'early';
    return this.#usual.isAim && wholeMs + this.#turn > MOST_OF_USUAL * usualMs ? 'late' : null;
  }

  /** Nothing is kept for a final before there is anything to compare in it. */
  allowsTrial({ hasFinalists }: { readonly hasFinalists: boolean }): boolean {
    return this.#turn <= this.#left - (hasFinalists ? this.#reserve : this.#trace);
  }

  get allowsLevel(): boolean {
    return this.#measurements.value <= this.#left - this.#reserve;
  }

  /** Tells whether the time allows a round of the final with this many candidates. The trace after the final keeps its time. */
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

  /** `onceMs`: what of the work will not have to be done again, of its outcome. */
  timeApply<T>(work: () => Promise<T>, onceMs: (outcome: T) => number = () => 0): Promise<T> {
    return this.#time(this.#applies, work, onceMs);
  }

  timeMeasure<T>(work: () => Promise<T>): Promise<T> {
    return this.#time(this.#measurements, work);
  }

  /** Learns from a step that was timed elsewhere. */
  learn({ applyMs, measureMs }: { readonly applyMs: readonly number[]; readonly measureMs: readonly number[] }): void {
    for (const ms of applyMs) this.#applies.add(ms);
    for (const ms of measureMs) this.#measurements.add(ms);
  }

  /** What such runs take, less what loads are faster here. */
  #usualMsOf({ seconds, loads, loadSeconds }: UsualTime): number {
    const fasterMs = Math.max(0, loadSeconds * MS_PER_S - this.#applies.value);
    return seconds * MS_PER_S - (this.#applies.count < APPLIES_TO_KNOW ? 0 : loads * fasterMs);
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
    return Math.min(this.#afterRounds(finalRounds === 0 ? 0 : finalRounds + 1), this.#budgetMs * MAX_RESERVE);
  }

  /** What comes after the search, with a final of this many rounds. */
  #afterRounds(rounds: number): number {
    return rounds * 2 * this.#turn + this.#trace + this.#applies.value;
  }

  async #time<T>(mean: Mean, work: () => Promise<T>, onceMs: (outcome: T) => number = () => 0): Promise<T> {
    const startNs = this.#clock.nowNs();
    const outcome = await work();
    mean.add(Math.max(0, nsToMs(this.#clock.nowNs() - startNs) - onceMs(outcome)));
    return outcome;
  }
}

/** A mean in which the latest count most. */
class Mean {
  #sum = 0;
  #weight = 0;
  #count = 0;

  add(value: number): void {
    this.#sum = value + REMEMBERED * this.#sum;
    this.#weight = 1 + REMEMBERED * this.#weight;
    this.#count++;
  }

  get count(): number {
    return this.#count;
  }

  /** 0 until something was added. */
  get value(): number {
    return this.#weight === 0 ? 0 : this.#sum / this.#weight;
  }
}
