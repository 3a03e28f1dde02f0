import { canonicalJson } from '#base/json.ts';
import { lookUp } from '#base/look-up.ts';
import type { Measurement } from '#profiler/measurement.ts';
import type { CandidateShape } from '#space/types.ts';
import type { StudyState } from '#study/records/state.ts';
import type { Trial } from '#study/types.ts';

/**
 * The names of measured configs in a row of Model Analyzer's tables. One cell holds the values of
 * several models.
 */
export interface AnalyzerNames {
  /** `MODEL`; `a,b` for models that clients send to side by side. */
  readonly model: string;
  configPath(trial: Trial): string;
  instanceGroups(trial: Trial): string;
  maxBatchSizes(trial: Trial): string | number;
  /** Returns the level, or those of the fronts. */
  level(measurement: Measurement): string | number;
}

/**
 * Returns the names for a study. Trial N's candidate is `MODEL_config_N`, the original config
 * `MODEL_config_default`. A pipeline's is `MODEL_config_N: a_config_2,b_config_default`, where each
 * part has the number of the first trial that used it.
 */
export function analyzerNames({ started, trials }: Pick<StudyState, 'started' | 'trials'>): AnalyzerNames {
  const { topology, model } = started;
  const numbered = (name: string, number: number): string => `${name}_config_${number || 'default'}`;
  if (!topology) {
    return {
      model,
      configPath: ({ number }) => numbered(model, number),
      instanceGroups: ({ candidate }) => instanceGroups(candidate.shape),
      maxBatchSizes: ({ candidate }) => candidate.shape.policy.maxBatchSize,
      level: ({ level }) => level.value,
    };
  }
  const firsts = firstTrials(trials);
  const listParts = ({ candidate }: Trial): readonly string[] =>
    topology.stages.map((stage) => numbered(stage, firsts.get(partKey(stage, candidate)) ?? 0));
  const shapes = ({ candidate: { shape } }: Trial): readonly CandidateShape[] =>
    topology.stages.flatMap((stage) => lookUp(shape.members, stage) ?? []);
  const isMix = topology.fronts.length > 1;
  return {
    model: topology.fronts.map((front) => front.model).join(','),
    configPath: (trial) =>
      isMix ? listParts(trial).join(',') : `${numbered(model, trial.number)}: ${listParts(trial).join(', ')}`,
    instanceGroups: (trial) => shapes(trial).map(instanceGroups).join(','),
    maxBatchSizes: (trial) =>
      shapes(trial)
        .map(({ policy }) => policy.maxBatchSize)
        .join(','),
    level: ({ level, fronts }) => (fronts ? fronts.map((front) => front.level.value).join(',') : level.value),
  };
}

/** Returns the number of the first trial that used each part. */
function firstTrials(trials: readonly Trial[]): ReadonlyMap<string, number> {
  const firsts = new Map<string, number>();
  for (const { number, candidate } of trials.toSorted((a, b) => a.number - b.number)) {
    for (const stage of Object.keys(candidate.shape.members ?? {})) {
      const key = partKey(stage, candidate);
      if (!firsts.has(key)) firsts.set(key, number);
    }
  }
  return firsts;
}

/** Returns a key that is equal for parts with the same config. */
function partKey(stage: string, { shape }: Trial['candidate']): string {
  const { policy, rest, batching, groups } = lookUp(shape.members, stage) ?? shape;
  return canonicalJson([stage, rest, batching, policy.maxBatchSize, groups.map(({ place, count }) => [place, count])]);
}

/**
 * Returns the instance groups as Model Analyzer writes them: `2:GPU`, or `2:GPU + 1:CPU` for groups
 * of several kinds.
 */
function instanceGroups({ groups, policy }: CandidateShape): string {
  const counts = new Map<string, number>();
  for (const { device, count } of groups.length > 0 ? groups : [{ device: 'auto', count: policy.instances }]) {
    counts.set(device, (counts.get(device) ?? 0) + count);
  }
  return [...counts].map(([device, count]) => `${count}:${device.toUpperCase()}`).join(' + ');
}
