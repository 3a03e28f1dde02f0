import type { WindowRule } from '../profiler/level-options.ts';
import type { Assignment, Candidate } from '../space/types.ts';
import type { ServerIdentity } from '../study/records.ts';
import { type ExhaustiveSampler, exhaustiveSampler } from '../study/samplers/exhaustive.ts';
import { viewSpace } from '../study/samplers/space-view.ts';
import { besideInstances } from '../triton/config-comparison.ts';
import { normaliseConfig } from '../triton/config-normal-form.ts';
import type { OriginalModel } from './open-server.ts';
import { type PlannedStudy, planStudy } from './plan-study.ts';
import type { RecordStudyOptions } from './record-options.ts';
import type { TuneRequest } from './tune-request.ts';

/** What the journal of a recording names as its sampler. */
export const EXHAUSTIVE = 'exhaustive';

/** A request whose options are those of a recording. */
export type RecordRequest = TuneRequest & { readonly options: RecordStudyOptions };

/** A study without a search: everything is measured, and there is no final. */
export interface PlannedRecording extends PlannedStudy {
  readonly sampler: ExhaustiveSampler;
  /** The original config first. */
  readonly candidates: readonly Candidate[];
  /** Changes between them that are more than instances. */
  readonly groups: number;
}

/** Errors: those of `planStudy`. */
export function planRecording(
  request: Pick<RecordRequest, 'options' | 'model' | 'earlier' | 'started'>,
  server: ServerIdentity,
  original: OriginalModel,
): PlannedRecording {
  const { options } = request;
  const planned = planStudy(request, server, original);
  const { plan } = planned;
  const isOriginal = (assignment: Assignment): boolean => Object.keys(assignment).length === 0;
  const build: typeof plan.build = (assignment) =>
    isOriginal(assignment) ? { legal: true, candidate: plan.baseline } : plan.build(assignment);
  const byFingerprint = new Map([[plan.baseline.fingerprint, plan.baseline]]);
  for (const assignment of viewSpace(planned.space, plan.study.originalConfig).assignments()) {
    const outcome = build(assignment);
    if (outcome.legal && !byFingerprint.has(outcome.candidate.fingerprint))
      byFingerprint.set(outcome.candidate.fingerprint, outcome.candidate);
  }
  const candidates = [...byFingerprint.values()];
  const sampler = exhaustiveSampler({
    ...{ candidates, levels: options.levelValues, repeats: options.repeats, seed: options.seed },
    latencyLimitMs: options.latencyLimit,
  });
  return {
    ...planned,
    ...{ sampler, candidates, samplerFor: () => sampler },
    groups: new Set(candidates.map(({ config }) => besideInstances(normaliseConfig(config)))).size,
    windows: windowsOf(options),
    plan: { ...plan, build, finalRounds: 0, study: { ...plan.study, sampler: EXHAUSTIVE } },
  };
}

function windowsOf({ window, windows }: RecordStudyOptions): Partial<WindowRule> {
  const minWindowMs = window === undefined ? null : window * 1e3;
  return {
    ...(minWindowMs !== null && { minWindowMs, maxWindowMs: Math.max(minWindowMs, 2000) }),
    ...(windows === undefined ? { maxWindows: 6 } : { minWindows: windows, maxWindows: windows }),
  };
}
