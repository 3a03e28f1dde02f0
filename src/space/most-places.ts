import { allBindings, bindSpace } from './bound-space.ts';
import { buildBound } from './candidate.ts';
import type { Candidate, SearchSpace } from './types.ts';

/**
 * Returns the most samples that a candidate of the space can execute at once: the largest legal batch times the most legal instances, each
 * looked at by itself.
 */
export function mostPlaces(space: SearchSpace, base: Candidate): number {
  const policies = allBindings(bindSpace(space, base)).flatMap((bound) =>
    bound.settings.flatMap(({ parameter, cases }) =>
      cases.flatMap(({ options }) =>
        options.flatMap(({ value }) => {
          const outcome = buildBound(bound, { [parameter.name]: value });
          return outcome.legal ? [outcome.candidate.shape.policy] : [];
        }),
      ),
    ),
  );
  const all = [base.shape.policy, ...policies];
  const most = (of: (policy: (typeof all)[number]) => number): number => Math.max(1, ...all.map(of));
  return most(({ maxBatchSize }) => maxBatchSize) * most(({ instances }) => instances);
}
