import type { Measurement } from '#profiler/measurement.ts';
import { requireMetrics } from '../goal/goal.ts';
import { bestTrial, computeStanding, steadyStanding } from '../goal/ranking.ts';
import { acrossServers } from '../speed/across-servers.ts';
import type { TimedMeasurement } from '../speed/evidence.ts';
import type { EstimateSpeeds, Speeds } from '../speed/speeds.ts';
import type { Doubted, Goal, Trial } from '../types.ts';

/**
 * Ranks trials at the machine's usual speed. Keeps what it ranked, so that thousands are not ranked
 * again after each measurement.
 */
class RankedTrials {
  readonly #known = new WeakMap<Trial, { readonly goal: Goal; readonly ranked: Trial }>();

  /**
   * Returns the trials with their measurements at the usual speed. Chooses again among those whose
   * measurements differ at it, and among all under `otherGoal`, a goal other than `goal`, the
   * journal's own. Errors: UNSUPPORTED when no measurement has the metrics that the other goal
   * needs.
   */
  rank(trials: readonly Trial[], speeds: Speeds, goal: Goal, otherGoal: Goal | null): readonly Trial[] {
    const ranked = trials.map((trial) => this.#rank(trial, speeds, otherGoal ?? goal, otherGoal !== null));
    if (!otherGoal) return ranked;
    const measured = ranked.find((trial) => trial.measurements.length > 0);
    if (measured && ranked.every((trial) => trial.chosen === null)) {
      requireMetrics(measured.measurements[0] as Measurement, measured.candidate, otherGoal);
    }
    return ranked;
  }

  #rank(trial: Trial, speeds: Speeds, goal: Goal, isOtherGoal: boolean): Trial {
    const scaled = trial.measurements.map((measurement) => speeds.comparable(measurement));
    const isScaled = scaled.some((measurement, index) => measurement !== trial.measurements[index]);
    if (!isScaled && !isOtherGoal) return trial;
    const known = this.#known.get(trial);
    if (known?.goal === goal && known.ranked.measurements.every((each, index) => each === scaled[index]))
      return known.ranked;
    const measurements = isScaled ? scaled : trial.measurements;
    const before = isOtherGoal ? computeStanding(trial.measurements, trial.candidate, goal).chosen : trial.chosen;
    const { chosen, feasible } = steadyStanding(before, measurements, trial.candidate, goal);
    const ranked = { ...trial, measurements, chosen, feasible: feasible && trial.failure === null };
    this.#known.set(trial, { goal, ranked });
    return ranked;
  }
}

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
