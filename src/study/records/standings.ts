import { bestTrial } from '../goal/ranking.ts';
import { acrossServers } from '../speed/across-servers.ts';
import type { TimedMeasurement } from '../speed/evidence.ts';
import type { EstimateSpeeds, Speeds } from '../speed/speeds.ts';
import type { Doubted, Goal, Trial } from '../types.ts';
import { RankedTrials } from './ranked-trials.ts';

/** What the standings at a moment of a study follow from. */
export interface Moment {
  /** Finished trials, as measured. */
  readonly finished: readonly Trial[];
  /** All that was measured, in order. */
  readonly timed: readonly TimedMeasurement[];
  /**
   * The goal of the journal's own ranking, and another one that counts instead; null if none does.
   */
  readonly goal: Goal;
  readonly otherGoal: Goal | null;
  readonly doubted: readonly Doubted[];
}

/**
 * The standings of a study's trials at one moment. Computed when they are asked for, because most
 * records are followed by other questions.
 */
export interface Standings {
  readonly speeds: Speeds;
  /** By number, at the study's usual speed. */
  readonly compared: readonly Trial[];
  /** The best of these; null for none. */
  readonly foremost: Trial | null;
  /** By number, as measured. */
  readonly trials: readonly Trial[];
}

/**
 * Computes the standings of one study. Keeps the speeds and ranks that do not change from one
 * moment to the next.
 */
export class StandingsFold {
  readonly #estimateSpeeds: EstimateSpeeds;
  readonly #ranked = new RankedTrials();
  #knownSpeeds: { readonly of: number; readonly speeds: Speeds } | null = null;

  constructor(estimateSpeeds: EstimateSpeeds) {
    this.#estimateSpeeds = acrossServers(estimateSpeeds);
  }

  /** Errors: of what it returns, those of `RankedTrials`. */
  at(moment: Moment): Standings {
    let speeds: Speeds | undefined;
    let ranks: Omit<Standings, 'speeds'> | undefined;
    const speedsNow = (): Speeds => (speeds ??= this.#speeds(moment.timed));
    const ranksNow = (): Omit<Standings, 'speeds'> => (ranks ??= this.#ranks(moment, speedsNow()));
    return {
      get speeds() {
        return speedsNow();
      },
      get compared() {
        return ranksNow().compared;
      },
      get foremost() {
        return ranksNow().foremost;
      },
      get trials() {
        return ranksNow().trials;
      },
    };
  }

  #ranks({ finished, goal, otherGoal, doubted }: Moment, speeds: Speeds): Omit<Standings, 'speeds'> {
    const measured = finished.toSorted((a, b) => a.number - b.number);
    const ranked = this.#ranked.rank(measured, speeds, goal, otherGoal);
    const foremost = bestTrial(ranked, otherGoal ?? goal, doubted);
    const compared = ranked.map((trial) => (trial.number === foremost?.number ? foremost : trial));
    const trials = compared.map((trial, at) => {
      const { measurements } = measured[at] as Trial;
      return trial.measurements === measurements ? trial : { ...trial, measurements };
    });
    return { compared, foremost, trials };
  }

  /** The speed as estimated from all measurements so far. */
  #speeds(timed: readonly TimedMeasurement[]): Speeds {
    if (this.#knownSpeeds?.of !== timed.length)
      this.#knownSpeeds = { of: timed.length, speeds: this.#estimateSpeeds(timed) };
    return this.#knownSpeeds.speeds;
  }
}
