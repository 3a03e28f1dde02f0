import { mean } from 'simple-statistics';
import type { Choice } from '../../../perfmodel/modelled-config.ts';
import { changesInPlace } from '../../../space/shape.ts';
import type { Candidate } from '../../../space/types.ts';
import type { Trial } from '../../types.ts';

/** Seconds that are assumed until a trial has shown them. */
const USUAL = { reloadSeconds: 2, inPlaceSeconds: 0.3, measureSeconds: 3 };
/**
 * Duration of a whole measurement, with warm-up and the time between windows, over the duration of
 * its windows.
 */
const BESIDE_WINDOWS = 1.3;

/** The cost of a trial on this server, in seconds: means over the trials so far. */
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
 * Estimates the cost of a trial. Before any trial: 2 s for a reload, 0.3 s for a change of
 * instances, 3 s for a measurement.
 */
export function fitTrialCost(trials: readonly Pick<Trial, 'applied' | 'measurements' | 'candidate'>[]): TrialCost {
  const loads = (change: string): number[] =>
    trials.flatMap(({ applied, measurements }) => {
      const [first] = measurements;
      return applied?.change === change ? [(applied.loadMs + (first?.firstAnswersMs ?? 0)) / 1e3] : [];
    });
  const made = new Set(
    trials.flatMap(({ candidate: { shape } }) => (shape.preparation ? [shape.preparation.key] : [])),
  );
  const durations = trials.flatMap(({ measurements }) => measurements.map(({ durationMs }) => durationMs / 1e3));
  const usual = (values: readonly number[], otherwise: number): number =>
    values.length > 0 ? Math.max(0.05, mean([...values])) : otherwise;
  const reloadSeconds = usual(loads('full'), USUAL.reloadSeconds);
  const inPlaceSeconds = Math.min(reloadSeconds, usual(loads('in-place'), USUAL.inPlaceSeconds));
  const finite = durations.filter((seconds) => Number.isFinite(seconds) && seconds > 0);
  return {
    measureSeconds: BESIDE_WINDOWS * usual(finite, USUAL.measureSeconds / BESIDE_WINDOWS),
    changeSeconds({ candidate }, served) {
      if (served?.fingerprint === candidate.fingerprint) return 0;
      const loadSeconds = served && changesInPlace(served.shape, candidate.shape) ? inPlaceSeconds : reloadSeconds;
      return loadSeconds + preparationSeconds(candidate, made);
    },
  };
}

const preparationSeconds = ({ shape: { preparation } }: Candidate, made: ReadonlySet<string>): number =>
  preparation && !made.has(preparation.key) ? preparation.seconds : 0;
