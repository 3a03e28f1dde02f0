import type { Measurement } from '../../profiler/measurement.ts';
import { requireMetrics } from '../goal/goal.ts';
import { bestTrial, standingOf } from '../goal/ranking.ts';
import { acrossServers } from '../speed/across-servers.ts';
import type { TimedMeasurement } from '../speed/evidence.ts';
import type { EstimateSpeeds, Speeds } from '../speed/speeds.ts';
import type { Doubted, Goal, Trial } from '../types.ts';

/** What the standings of a study's trials follow from. */
export interface StandingsFrom {
  /** Finished trials, as measured. */
  readonly trials: readonly Trial[];
  /** All that was measured, in order. */
  readonly timed: readonly TimedMeasurement[];
  readonly goal: Goal;
  /** True to rank the trials again under the goal, which is not that of the journal's ranking. */
  readonly isOther: boolean;
  readonly doubted: readonly Doubted[];
}

/** The standings of a study's trials at one moment. Computed when they are asked for, because most records are followed by other questions. */
export interface Standings {
  readonly speeds: Speeds;
  /** By number, at the study's usual speed. */
  readonly compared: readonly Trial[];
  /** The best of these; null for none. */
  readonly foremost: Trial | null;
  /** By number, as measured. */
  readonly trials: readonly Trial[];
}

/** Ranks the trials of one study. Keeps what does not change from one moment to the next, so that thousands are not ranked again each time. */
export class Ranking {
  readonly #estimateSpeeds: EstimateSpeeds;
  #knownSpeeds: { readonly of: number; readonly speeds: Speeds } | null = null;
  readonly #knownRanked = new WeakMap<Trial, { readonly goal: Goal; readonly ranked: Trial }>();

  constructor(estimateSpeeds: EstimateSpeeds) {
    this.#estimateSpeeds = acrossServers(estimateSpeeds);
  }

  /** Errors: of what it returns, UNSUPPORTED when no measurement has the metrics that another goal needs. */
  standingsOf(from: StandingsFrom): Standings {
    let speeds: Speeds | undefined;
    let computed: Omit<Standings, 'speeds'> | undefined;
    const speedsNow = (): Speeds => (speeds ??= this.#speeds(from.timed));
    const compute = (): Omit<Standings, 'speeds'> => (computed ??= this.#standings(from, speedsNow()));
    return {
      get speeds() {
        return speedsNow();
      },
      get compared() {
        return compute().compared;
      },
      get foremost() {
        return compute().foremost;
      },
      get trials() {
        return compute().trials;
      },
    };
  }

  #standings(from: StandingsFrom, speeds: Speeds): Omit<Standings, 'speeds'> {
    const measured = [...from.trials].sort((a, b) => a.number - b.number);
    const ranked = this.#ranked(measured, from, speeds);
    const foremost = bestTrial(ranked, from.goal, from.doubted);
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

  /** The trials at the usual speed; ranked again if that, or another goal, changes the journal's ranking. */
  #ranked(trials: readonly Trial[], { goal, isOther }: StandingsFrom, speeds: Speeds): readonly Trial[] {
    const ranked = trials.map((trial): Trial => {
      const scaled = trial.measurements.map((measurement) => speeds.comparable(measurement));
      const isScaled = scaled.some((measurement, index) => measurement !== trial.measurements[index]);
      if (!isScaled && !isOther) return trial;
      const known = this.#knownRanked.get(trial);
      if (known?.goal === goal && known.ranked.measurements.every((each, index) => each === scaled[index]))
        return known.ranked;
      const measurements = isScaled ? scaled : trial.measurements;
      const { chosen, feasible } = standingOf(measurements, trial.candidate, goal);
      const again = { ...trial, measurements, chosen, feasible: feasible && trial.failure === null };
      this.#knownRanked.set(trial, { goal, ranked: again });
      return again;
    });
    if (!isOther) return ranked;
    const measured = ranked.find((trial) => trial.measurements.length > 0);
    if (measured && ranked.every((trial) => trial.chosen === null)) {
      requireMetrics(measured.measurements[0] as Measurement, measured.candidate, goal);
    }
    return ranked;
  }
}
