import { mean } from 'simple-statistics';
import type { Choice } from '#perfmodel/modelled-config.ts';
import { changesInPlace } from '#space/shape.ts';
import type { Candidate } from '#space/types.ts';
import type { Trial } from '../../types.ts';
import { fitLoadTime, type LoadTime, type ObservedLoad } from './load-times.ts';

/** Seconds that are assumed until a trial has shown them. */
const USUAL = { reloadSeconds: 2, inPlaceSeconds: 0.3, measureSeconds: 3 };
/**
 * Duration of a whole measurement, with warm-up and the time between windows, over the duration of
 * its windows.
 */
const BESIDE_WINDOWS = 1.3;

/** No load takes less. */
const MIN_SECONDS = 0.05;

/** The cost of a trial on this server, in seconds, learned from the trials so far. */
export interface TrialCost {
  /**
   * Seconds to apply the choice to a server that serves `served`, until it gives its first answers;
   * null means a server that serves nothing. Includes the time to build its files, unless a trial
   * has built them.
   */
  changeSeconds(choice: Choice, served: Candidate | null): number;
  /** Seconds for one measurement. */
  readonly measureSeconds: number;
}

/**
 * Estimates the cost of a trial: of a load by what it loads (`fitLoadTime`), of a change of
 * instances in the same way, of a measurement by the mean. Before any trial: 2 s for a reload,
 * 0.3 s for a change of instances, 3 s for a measurement. `slow`: names of parameters whose change
 * is said to be slow.
 */
export function fitTrialCost(
  trials: readonly Pick<Trial, 'applied' | 'measurements' | 'candidate'>[],
  slow: readonly string[] = [],
): TrialCost {
  const reloadSeconds = fitLoads(trials, 'full', USUAL.reloadSeconds, slow);
  const inPlaceSeconds = fitLoads(trials, 'in-place', USUAL.inPlaceSeconds, []);
  const made = new Set(
    trials.flatMap(({ candidate: { shape } }) => (shape.preparation ? [shape.preparation.key] : [])),
  );
  const durations = trials
    .flatMap(({ measurements }) => measurements.map(({ durationMs }) => durationMs / 1e3))
    .filter((seconds) => Number.isFinite(seconds) && seconds > 0);
  return {
    measureSeconds:
      durations.length > 0 ? BESIDE_WINDOWS * Math.max(MIN_SECONDS, mean(durations)) : USUAL.measureSeconds,
    changeSeconds({ candidate }, served) {
      if (served?.fingerprint === candidate.fingerprint) return 0;
      const before = served?.assignment ?? null;
      const whole = reloadSeconds(candidate.assignment, before);
      const isInPlace = served !== null && changesInPlace(served.shape, candidate.shape);
      const loadSeconds = isInPlace ? Math.min(whole, inPlaceSeconds(candidate.assignment, before)) : whole;
      return loadSeconds + preparationSeconds(candidate, made);
    },
  };
}

/** Fits the time of one kind of change; `usual` seconds while no trial has made one. */
function fitLoads(
  trials: readonly Pick<Trial, 'applied' | 'measurements' | 'candidate'>[],
  change: 'full' | 'in-place',
  usual: number,
  slow: readonly string[],
): LoadTime {
  const loads = trials.flatMap(({ applied, measurements, candidate }, index): readonly ObservedLoad[] => {
    if (applied?.change !== change) return [];
    const seconds = (applied.loadMs + (measurements[0]?.firstAnswersMs ?? 0)) / 1e3;
    const before = trials[index - 1]?.candidate.assignment ?? null;
    return [{ assignment: candidate.assignment, before, seconds: Math.max(MIN_SECONDS, seconds) }];
  });
  return fitLoadTime(loads, usual, slow);
}

const preparationSeconds = ({ shape: { preparation } }: Candidate, made: ReadonlySet<string>): number =>
  preparation && !made.has(preparation.key) ? preparation.seconds : 0;
