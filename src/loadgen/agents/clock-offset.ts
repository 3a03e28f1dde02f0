/** One probe of another clock: sent and received by our clock, answered in between by the other. */
export interface ClockProbe {
  readonly sentNs: number;
  readonly backNs: number;
  readonly otherNs: number;
}

/** How far the other clock is ahead of ours. */
export interface ClockEstimate {
  readonly offsetNs: number;
  /** The true offset is within this distance, whichever direction of the probe was slower. */
  readonly uncertaintyNs: number;
}

/** Probes to remember: at four a second, those of a quarter of a minute. */
const REMEMBERED = 64;
/**
 * How fast two clocks may drift apart, as a share of the time: crystals are accurate to 50 ppm (RFC
 * 5905, section 7.1, takes 15 ppm for a disciplined clock, and lets a clock be slewed by at most
 * 500 ppm).
 */
const DRIFT = 100e-6;

/**
 * Estimates the offset of another clock from probes. A probe says that the other clock read
 * `otherNs` at some moment between `sentNs` and `backNs`: the midpoint is off by at most half of
 * the round trip (F. Cristian, "Probabilistic clock synchronization", Distributed Computing 3,
 * 1989). So the fastest probe is the best one, as in the clock filter of NTP (RFC 5905, section
 * 10); each becomes less certain as it ages.
 */
export class ClockOffset {
  #probes: readonly ClockProbe[] = [];

  add(probe: ClockProbe): void {
    this.#probes = [...this.#probes.slice(1 - REMEMBERED), probe];
  }

  /** Returns the best estimate at `nowNs`, by our clock; without a probe nothing is known. */
  at(nowNs: number): ClockEstimate {
    let best: ClockEstimate = { offsetNs: 0, uncertaintyNs: Number.POSITIVE_INFINITY };
    for (const probe of this.#probes) {
      const uncertaintyNs = (probe.backNs - probe.sentNs) / 2 + DRIFT * Math.max(0, nowNs - probe.backNs);
      if (uncertaintyNs >= best.uncertaintyNs) continue;
      best = { offsetNs: probe.otherNs - (probe.sentNs + probe.backNs) / 2, uncertaintyNs };
    }
    return best;
  }

  /** The round trip of the slowest recent probe; 0 without one. */
  get slowestNs(): number {
    return this.#probes.reduce((slowest, { sentNs, backNs }) => Math.max(slowest, backNs - sentNs), 0);
  }
}
