import { type PlannedFrom, type PlannedStudy, planStudy } from '../../src/app/study/plan-study.ts';
import type { DescribedTarget } from '../../src/app/study/study.ts';
import { TrituneError } from '../../src/base/errors.ts';
import { listed } from '../../src/base/format.ts';
import type { WindowRule } from '../../src/profiler/level-options.ts';
import { toOtherConfigs } from '../../src/space/model-configs.ts';
import { besideInstances } from '../../src/space/shape.ts';
import type { Topology } from '../../src/space/topology.ts';
import type { Candidate } from '../../src/space/types.ts';
import type { RecordingSpec, StudySpec } from '../../src/spec/study-spec.ts';
import { type ExhaustiveSampler, exhaustiveSampler } from '../../src/study/search/samplers/exhaustive.ts';

/** The sampler's name in the journal of a recording. */
export const EXHAUSTIVE = 'exhaustive';

/** Returns what a recording measures. Errors: USAGE for a study that is not a recording. */
export function recordingIn({ recording }: StudySpec): RecordingSpec {
  if (recording) return recording;
  throw new TrituneError(
    'USAGE',
    'this directory holds a run of tritune tune, not a recording',
    'give the directory of a recording, or use tritune tune --resume',
  );
}

/** A study without a search: it measures everything, and there is no final. */
export interface PlannedRecording extends PlannedStudy {
  readonly sampler: ExhaustiveSampler;
  /** The candidates, the original config first. */
  readonly candidates: readonly Candidate[];
  /** The number of changes between them that affect more than instances. */
  readonly groups: number;
}

/**
 * Errors: those of `planStudy`; UNSUPPORTED for several models, because a grid has the configs of
 * one.
 */
export function planRecording(study: PlannedFrom, target: DescribedTarget): PlannedRecording {
  const { levelValues, repeats, latencyLimitMs } = recordingIn(study.spec);
  if (target.topology) throw ofPipeline(target.topology);
  const [other] = Object.keys(toOtherConfigs(target.original));
  if (other !== undefined) throw ofSeveralModels(other);
  const planned = planStudy(study, target);
  const { plan } = planned;
  const byFingerprint = new Map([[plan.study.original.fingerprint, plan.study.original]]);
  const view = target.space.view({});
  for (const assignment of view.assignments()) {
    const outcome = view.build(assignment);
    if (outcome.legal && !byFingerprint.has(outcome.candidate.fingerprint))
      byFingerprint.set(outcome.candidate.fingerprint, outcome.candidate);
  }
  const candidates = [...byFingerprint.values()];
  const sampler = exhaustiveSampler({
    candidates,
    levels: levelValues,
    repeats,
    seed: study.spec.seed,
    latencyLimitMs,
  });
  return {
    ...planned,
    sampler,
    candidates,
    samplerFor: () => sampler,
    groups: new Set(candidates.map(({ shape }) => besideInstances(shape))).size,
    plan: { ...plan, finalRounds: 0, study: { ...plan.study, sampler: EXHAUSTIVE } },
  };
}

const ofSeveralModels = (other: string): TrituneError =>
  new TrituneError(
    'UNSUPPORTED',
    `a recording has one model, but the search space also has '${other}'`,
    'remove that variant from the search space',
  );

const ofPipeline = ({ stages }: Topology): TrituneError =>
  new TrituneError(
    'UNSUPPORTED',
    `a recording has one model, but the study has ${listed(stages)}`,
    'record one of them',
  );

/** Returns the rule for the windows of each point. */
export function toWindows({ windowSeconds, windows }: RecordingSpec): Partial<WindowRule> {
  const minWindowMs = windowSeconds === undefined ? null : windowSeconds * 1e3;
  return {
    ...(minWindowMs !== null && { minWindowMs, maxWindowMs: Math.max(minWindowMs, 2000) }),
    ...(windows === undefined ? { maxWindows: 6 } : { minWindows: windows, maxWindows: windows }),
  };
}
