import { allBindings, bindSpace } from './bound-space.ts';
import { buildBound } from './candidate.ts';
import type { Candidate, CandidateShape, SearchSpace } from './types.ts';

/**
 * Returns the most samples that a candidate of the space can execute at once: the largest legal
 * batch times the most legal instances, each considered separately; for a language model's engine
 * the most sequences that it runs.
 */
export function mostPlaces(space: SearchSpace, base: Candidate): number {
  const shapes = allBindings(bindSpace(space, base)).flatMap((bound) =>
    bound.settings.flatMap(({ parameter, cases }) =>
      cases.flatMap(({ options }) =>
        options.flatMap(({ value }) => {
          const alone = { [parameter.name]: value };
          // Larger batches than the original's may need the batcher.
          const outcomes = [alone, { ...alone, dynamic_batching: true }].map((each) => buildBound(bound, each));
          return outcomes.flatMap((outcome) => (outcome.legal ? [outcome.candidate.shape] : []));
        }),
      ),
    ),
  );
  const all = [base.shape, ...shapes];
  const most = (of: (shape: CandidateShape) => number): number => Math.max(1, ...all.map(of));
  const sequences = most(({ continuous }) => continuous?.maxSequences ?? 1);
  return Math.max(sequences, most(({ policy }) => policy.maxBatchSize) * most(({ policy }) => policy.instances));
}
