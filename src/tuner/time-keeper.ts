import type { Clock } from '#base/clock.ts';
import { formatDuration } from '#base/format.ts';
import { MS_PER_S, msToNs, nsToMs } from '#base/units.ts';
import type { Pace } from '#study/types.ts';

/**
 * The factor by which each step counts less than the next one: steps get longer as the search
 * reaches higher levels.
 */
const REMEMBERED = 0.7;
/**
 * The shares of the usual duration that a run keeps within if that loses little, so that its
 * duration is predictable.
 */
const MIN_OF_USUAL = 0.85;
const MAX_OF_USUAL = 1.1;
/**
 * The number of applied candidates that shows how long applying takes; the first is already on the
 * server.
 */
const APPLIES_TO_KNOW = 4;
/**
 * The largest share of the budget that is reserved for the final. With a third, a search of a
 * minute on a busy machine left time for one round, and a gain without an interval: a confirmed
 * gain is worth more than another trial.
 */
const MAX_RESERVE = 1 / 2;

/** A time budget of which less than this share is left was used up. */
const USED_UP = 0.05;

/** The work after the search, besides restoring the model. */
interface AfterSearch {
  readonly finalRounds: number;
  /** The best is measured once more, traced. */
  readonly traced: boolean;
}

/** The usual duration of runs of a kind, including their final. */
export interface UsualTime {
  readonly seconds: number;
  /** True if the run should take much longer only for a large benefit. */
  readonly isAim: boolean;
  /**
   * The number of loads in it, and the expected duration of each; if they are faster, so is the
   * run.
   */
  readonly loads: number;
  readonly loadSeconds: number;
}

/** The time limit of a run (Infinity for none), and its usual duration. */
interface Allowed {
  readonly timeBudgetMs: number;
  readonly usual?: UsualTime;
}

const MIN_GRACE_MS = 5_000;
const GRACE_SHARE = 0.25;

/**
 * Keeps a run within its time budget: estimates the duration of a step from earlier ones, and
 * reserves time for the final.
 */
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

  /** `spentMs`: the duration of earlier runs of the study. */
  constructor(clock: Clock, { timeBudgetMs, usual }: Allowed, afterSearch: AfterSearch, spentMs: number) {
    this.#clock = clock;
    this.#budgetMs = timeBudgetMs;
    this.#usual = usual;
    this.#afterSearch = afterSearch;
    this.#startNs = clock.nowNs();
    this.#spentMs = spentMs;
  }

  /** Milliseconds of all runs of the study, including this one, without pauses. */
  get elapsedMs(): number {
    return this.#spentMs + nsToMs(this.#clock.nowNs() - this.#startNs) - this.#pausedMs;
  }

  /** Seconds left for the search. */
  get searchSecondsLeft(): number {
    return Math.max(0, this.#left - this.#reserve) / MS_PER_S;
  }

  /** The usual duration of such runs, given how long loads take here; null if unknown. */
  get usualSeconds(): number | null {
    return this.#usual ? this.#computeUsualMs(this.#usual) / MS_PER_S : null;
  }

  /**
   * Returns how the whole run would compare with the usual one if the search ended now, or after
   * another trial.
   */
  computePace(finalRounds: number): Pace | null {
    if (!this.#usual) return null;
    const usualMs = this.#computeUsualMs(this.#usual);
    const wholeMs = this.elapsedMs + this.#afterRounds(finalRounds);
    if (wholeMs < MIN_OF_USUAL * usualMs) return 'early';
    return this.#usual.isAim && wholeMs + this.#turn > MAX_OF_USUAL * usualMs ? 'late' : null;
  }

  /** No time is reserved for a final before there is anything to compare. */
  allowsTrial({ hasFinalists }: { readonly hasFinalists: boolean }): boolean {
    return this.#turn <= this.#left - (hasFinalists ? this.#reserve : this.#trace);
  }

  /** Says why there is no time for another trial: with the figures, unless nothing is left. */
  lackOfTime({ hasFinalists }: { readonly hasFinalists: boolean }): string {
    const formatSeconds = (ms: number): string => formatDuration(Math.max(0, ms) / MS_PER_S);
    const [turn, left] = [this.#turn, this.#left];
    if (left < USED_UP * this.#budgetMs) return 'the time budget was used up';
    const reserve = hasFinalists ? this.#reserve : this.#trace;
    const work = `the next trial (about ${formatSeconds(turn)})`;
    const what = hasFinalists ? 'the final' : 'the trace';
    if (reserve >= left) return `the last ${formatSeconds(left)} of the time budget are for ${what}`;
    return turn > left || reserve === 0
      ? `${work} would not fit into the ${formatSeconds(left)} that are left of the time budget`
      : `${work} would not fit into the time budget: of the ${formatSeconds(left)} that are left, ${formatSeconds(reserve)} are reserved for ${what}`;
  }

  /**
   * The time of the clock, in nanoseconds, at which a measurement must end although its rule is not
   * met: against a server whose replies never end. Later than the time budget, because a
   * measurement that was planned within it may take longer than expected, and the first one begins
   * late after a slow load. undefined without a budget.
   */
  get lastNs(): number | undefined {
    if (!Number.isFinite(this.#budgetMs)) return undefined;
    const graceMs = Math.max(MIN_GRACE_MS, GRACE_SHARE * this.#budgetMs);
    return this.#clock.nowNs() + msToNs(Math.max(0, this.#left) + graceMs);
  }

  get allowsLevel(): boolean {
    return this.#measurements.value <= this.#left - this.#reserve;
  }

  /**
   * True if there is time for a round of the final with this many candidates. The time of the trace
   * after the final stays reserved.
   */
  allowsFinalRound(candidates: number): boolean {
    return candidates * this.#turn + this.#trace <= this.#left;
  }

  get allowsTrace(): boolean {
    return this.#trace <= this.#left;
  }

  /** Runs a pause, whose time does not count. */
  async pass(pause: () => Promise<void>): Promise<void> {
    const startNs = this.#clock.nowNs();
    try {
      await pause();
    } finally {
      this.#pausedMs += nsToMs(this.#clock.nowNs() - startNs);
    }
  }

  /** `onceMs`: the part of the work, by its outcome, that will not be repeated. */
  timeApply<T>(work: () => Promise<T>, onceMs: (outcome: T) => number = () => 0): Promise<T> {
    return this.#time(this.#applies, work, onceMs);
  }

  /**
   * The time until the first answers after a load counts as part of applying: it does not return at
   * the candidate's other levels.
   */
  async timeMeasure<T extends { readonly firstAnswersMs?: number | undefined }>(work: () => Promise<T>): Promise<T> {
    const outcome = await this.#time(this.#measurements, work, ({ firstAnswersMs = 0 }) => firstAnswersMs);
    this.#applies.extend(outcome.firstAnswersMs ?? 0);
    return outcome;
  }

  /** Learns from a step that was timed elsewhere. */
  learn({ applyMs, measureMs }: { readonly applyMs: readonly number[]; readonly measureMs: readonly number[] }): void {
    for (const ms of applyMs) this.#applies.add(ms);
    for (const ms of measureMs) this.#measurements.add(ms);
  }

  /** The usual duration, less the time saved by faster loads here. */
  #computeUsualMs({ seconds, loads, loadSeconds }: UsualTime): number {
    const fasterMs = Math.max(0, loadSeconds * MS_PER_S - this.#applies.value);
    return seconds * MS_PER_S - (this.#applies.count < APPLIES_TO_KNOW ? 0 : loads * fasterMs);
  }

  get #left(): number {
    return this.#budgetMs - this.elapsedMs;
  }

  /** The duration of one candidate, applied and measured. */
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

  /** The duration of everything after the search, with a final of this many rounds. */
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

/** A mean in which the latest values count most. */
class Mean {
  #sum = 0;
  #weight = 0;
  #count = 0;

  add(value: number): void {
    this.#sum = value + REMEMBERED * this.#sum;
    this.#weight = 1 + REMEMBERED * this.#weight;
    this.#count++;
  }

  /** Adds to the last value. */
  extend(value: number): void {
    this.#sum += value;
  }

  get count(): number {
    return this.#count;
  }

  /** 0 until a value is added. */
  get value(): number {
    return this.#weight === 0 ? 0 : this.#sum / this.#weight;
  }
}
