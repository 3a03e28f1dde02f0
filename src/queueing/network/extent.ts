import type { SimulationOptions } from '../simulate.ts';
import type { FrontTraffic } from './front-traffic.ts';

/** The part of what all fronts have on average that a slow one has at least. */
const LEAST_PART = 0.1;
/** How many times what is wanted is simulated at most, for the sake of a slow front. */
const MOST_TIMES = 100;

/** Says when a simulation begins to count, and when it is over. */
export class Extent {
  readonly #fronts: readonly FrontTraffic[];
  readonly #counters: readonly { isCounting: boolean }[];
  readonly #options: SimulationOptions;
  #isWarm: boolean;
  #beginNs = 0;
  #endNs = 0;

  /** `counters`: all that count while the simulation does. */
  constructor(
    fronts: readonly FrontTraffic[],
    counters: readonly { isCounting: boolean }[],
    options: SimulationOptions,
  ) {
    this.#fronts = fronts;
    this.#counters = counters;
    this.#options = options;
    this.#isWarm = options.warmUpRequests === 0;
    for (const counter of counters) counter.isCounting = this.#isWarm;
  }

  /** How long it counted: from the last answer of the warm-up to the last answer. */
  get spanNs(): number {
    return this.#endNs - this.#beginNs;
  }

  /** Counts what has been answered at this moment; returns whether the simulation is over. */
  isOverAt(nowNs: number): boolean {
    if (this.#fronts.every(({ answeredNow }) => answeredNow === 0)) return false;
    if (!this.#isWarm && this.#haveAll(this.#options.warmUpRequests, ({ answered }) => answered)) this.#begin(nowNs);
    for (const front of this.#fronts) {
      if (front.answeredNow > 0) front.tally.together(front.answeredNow, nowNs);
      front.answeredNow = 0;
    }
    this.#endNs = nowNs;
    return this.#isComplete() || this.#isTooLong();
  }

  #begin(nowNs: number): void {
    this.#isWarm = true;
    this.#beginNs = nowNs;
    for (const { tally } of this.#fronts) tally.endWarmUp();
    for (const counter of this.#counters) counter.isCounting = true;
  }

  /** Tells whether all given arrivals have been answered, and of traffic that goes on as much as was asked for. */
  #isComplete(): boolean {
    const isAnswered = this.#fronts.every(({ all, isExhausted }) => all === Number.POSITIVE_INFINITY || isExhausted);
    return isAnswered && this.#haveAll(this.#options.requests, ({ tally }) => tally.counted);
  }

  /** Tells whether fronts have `wanted` requests each on average; those that have nothing left do not count. */
  #haveAll(wanted: number, of: (front: FrontTraffic) => number): boolean {
    let [sum, goingOn] = [0, 0];
    for (const front of this.#fronts) {
      if (front.isExhausted) continue;
      const has = of(front);
      if (has < LEAST_PART * wanted) return false;
      sum += has;
      goingOn++;
    }
    return sum >= wanted * goingOn;
  }

  #isTooLong(): boolean {
    const { warmUpRequests, requests } = this.#options;
    const goingOn = this.#fronts.filter(({ all }) => all === Number.POSITIVE_INFINITY);
    const answered = goingOn.reduce((sum, front) => sum + front.answered, 0);
    return goingOn.length > 0 && answered >= MOST_TIMES * goingOn.length * (warmUpRequests + requests);
  }
}
