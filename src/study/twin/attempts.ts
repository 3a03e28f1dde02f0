import { type Choice, choiceOf } from '../../perfmodel/modelled-config.ts';
import { observationsOf } from '../../perfmodel/observations.ts';
import { variantOf } from '../../perfmodel/variant.ts';
import type { Measurement } from '../../profiler/measurement.ts';
import type { Observation } from '../../queueing/observation.ts';
import { instancesOf } from '../../triton/instances.ts';
import type { ModelConfig } from '../../triton/model-config.ts';
import type { StudyState } from '../state.ts';
import type { TrialFailure } from '../types.ts';

/** One config that a study tried, with everything that it measured of it, in the final too. */
export interface Attempt {
  readonly trial: number;
  readonly config: ModelConfig;
  readonly choice: Choice;
  readonly variant: string;
  readonly instances: number;
  /** 1 without batching. */
  readonly maxBatchSize: number;
  readonly measurements: readonly Measurement[];
  readonly observations: readonly Observation[];
  /** Whether the server loaded it. */
  readonly isLoaded: boolean;
  /** What the server refused it with; null when it did not, or was not asked. */
  readonly refusal: TrialFailure | null;
}

/** Failures that are the server's own verdict on a config. */
const refusals: ReadonlySet<TrialFailure['kind']> = new Set(['out-of-memory', 'init-failed', 'invalid-config']);

/** By number of the trial. */
export function attemptsOf({ trials, unfinished, finals }: StudyState): readonly Attempt[] {
  const open = unfinished ? [{ ...unfinished, failure: null }] : [];
  return [...trials, ...open].map((trial): Attempt => {
    const { number, candidate, failure } = trial;
    const again = finals.filter((final) => final.trial === number).map(({ measurement }) => measurement);
    const measurements = [...trial.measurements, ...again];
    const isLoaded = measurements.length > 0 || ('applied' in trial && trial.applied !== undefined);
    return {
      trial: number,
      config: candidate.config,
      choice: choiceOf(candidate),
      variant: variantOf(candidate.config),
      instances: instancesOf(candidate.config),
      maxBatchSize: Math.max(1, candidate.config.max_batch_size ?? 0),
      measurements,
      observations: observationsOf({ candidate, measurements }),
      isLoaded,
      refusal: failure && !isLoaded && refusals.has(failure.kind) ? failure : null,
    };
  });
}
