import type { SimulationOptions } from '../simulate.ts';
import type { SimulatedFront } from './front-traffic.ts';

/** The least share of the fronts' average that a slow front has. */
const MIN_PART = 0.1;
/** The largest multiple of the wanted requests to simulate for a slow front. */
const MAX_TIMES = 100;

/** Determines when a simulation begins to count, and when it ends. */
export class Extent {
  readonly #fronts: readonly SimulatedFront[];
  readonly #counters: readonly { isCounting: boolean }[];
  readonly #options: SimulationOptions;
  #isWarm: boolean;
  #beginNs = 0;
  #endNs = 0;

  /** `counters`: all counters of the simulation. */
  constructor(
    fronts: readonly SimulatedFront[],
    counters: readonly { isCounting: boolean }[],
    options: SimulationOptions,
  ) {
    this.#fronts = fronts;
    this.#counters = counters;
    this.#options = options;
    this.#isWarm = options.warmUpRequests === 0;
    for (const counter of counters) counter.isCounting = this.#isWarm;
  }

  /** The counted duration: from the last answer of the warm-up to the last answer. */
  get spanNs(): number {
    return this.#endNs - this.#beginNs;
  }

  /** Counts the answers at this moment; returns whether the simulation is over. */
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

  /**
   * True if all given arrivals have been answered, and for endless traffic as many as requested.
   */
  #isComplete(): boolean {
    const isAnswered = this.#fronts.every(({ all, isExhausted }) => all === Number.POSITIVE_INFINITY || isExhausted);
    return isAnswered && this.#haveAll(this.#options.requests, ({ tally }) => tally.counted);
  }

  /**
   * True if fronts have `fewest` requests each on average; fronts with nothing left do not count.
   */
  #haveAll(fewest: number, of: (front: SimulatedFront) => number): boolean {
    let [sum, goingOn] = [0, 0];
    for (const front of this.#fronts) {
      if (front.isExhausted) continue;
      const has = of(front);
      if (has < MIN_PART * fewest) return false;
      sum += has;
      goingOn++;
    }
    return sum >= fewest * goingOn;
  }

  #isTooLong(): boolean {
    const { warmUpRequests, requests } = this.#options;
    const goingOn = this.#fronts.filter(({ all }) => all === Number.POSITIVE_INFINITY);
    const answered = goingOn.reduce((sum, front) => sum + front.answered, 0);
    return goingOn.length > 0 && answered >= MAX_TIMES * goingOn.length * (warmUpRequests + requests);
  }
}
