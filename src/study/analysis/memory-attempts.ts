import { type Choice, toChoice } from '#perfmodel/modelled-config.ts';
import type { Observation } from '#perfmodel/observation.ts';
import { listObservations } from '#perfmodel/observations.ts';
import type { Measurement } from '#profiler/measurement.ts';
import type { StudyState } from '../records/state.ts';
import type { TrialFailure } from '../types.ts';

/** A config that a study tried, with all its measurements, those of the final included. */
export interface Attempt {
  readonly trial: number;
  readonly choice: Choice;
  readonly settingsKey: string;
  readonly instances: number;
  /** 1 without batching. */
  readonly maxBatchSize: number;
  readonly measurements: readonly Measurement[];
  readonly observations: readonly Observation[];
  /** True when the server loaded it. */
  readonly isLoaded: boolean;
  /** The failure of the refused load; null when it loaded, or was not asked for. */
  readonly refusal: TrialFailure | null;
}

/** Failures that are the server's verdict on a config. */
const refusals: ReadonlySet<TrialFailure['kind']> = new Set(['out-of-memory', 'init-failed', 'invalid-config']);

/** Returns the attempts of a study by trial number. */
export function listAttempts({ trials, unfinished, finals }: StudyState): readonly Attempt[] {
  const open = unfinished ? [{ ...unfinished, failure: null }] : [];
  return [...trials, ...open].map((trial): Attempt => {
    const { number, candidate, failure } = trial;
    const choice = toChoice(candidate);
    const again = finals.filter((final) => final.trial === number).map(({ measurement }) => measurement);
    const measurements = [...trial.measurements, ...again];
    const isLoaded = measurements.length > 0 || ('applied' in trial && trial.applied !== undefined);
    return {
      trial: number,
      choice,
      settingsKey: choice.settingsKey,
      instances: choice.policy.instances,
      maxBatchSize: Math.max(1, choice.policy.maxBatchSize),
      measurements,
      observations: listObservations({ candidate, measurements }),
      isLoaded,
      refusal: failure && !isLoaded && refusals.has(failure.kind) ? failure : null,
    };
  });
}
