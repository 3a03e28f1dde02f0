import { listDifferences } from '#space/differences.ts';
import { TRITON } from '#space/model-configs.ts';
import type { Candidate, CandidateOutcome } from '#space/types.ts';
import type { ServerIdentity } from '#study/records/records.ts';
import type { SpaceView } from '#study/search/samplers/space-view.ts';
import type { Control, Profile, ServerAdapter } from '#tuner/adapter.ts';
import type { AccuracyGuard } from '../variants/accuracy-guard.ts';

export interface TritonAdapterParts {
  readonly identity: ServerIdentity;
  readonly original: Candidate;
  /** The search space over the original. */
  readonly space: Pick<SpaceView, 'build'>;
  readonly control: Control;
  readonly profile: Profile;
  /** Checks outputs before a measurement; absent without expected outputs. */
  readonly guard?: AccuracyGuard | undefined;
  /** Returns the files to serve a candidate. */
  readonly documents: ServerAdapter['documents'];
}

/**
 * Returns the adapter for models of a Triton server: its candidates are sets of model configs,
 * loaded by the server's explicit model control.
 */
export function tritonAdapter(parts: TritonAdapterParts): ServerAdapter {
  const { identity, original, space, control, profile, guard, documents } = parts;
  return {
    name: TRITON,
    identity,
    original,
    build: (assignment): CandidateOutcome =>
      Object.keys(assignment).length === 0 ? { legal: true, candidate: original } : space.build(assignment),
    diff: listDifferences,
    documents,
    apply: async (candidate, signal) => {
      const applied = await control.apply(candidate, signal);
      return guard ? guard(applied, signal) : applied;
    },
    changed: (signal) => control.changed(signal),
    isReachable: (signal) => control.isReachable(signal),
    restore: () => control.restore(),
    measure: profile.measure,
  };
}
