// A sampler of your own, for `tritune tune --sampler ./sampler.ts` or `tune({ sampler })`.
//
// It walks: every candidate differs from the best so far in one setting. When none is left, the
// search is over.
import type { Assignment, SamplerDefinition, Trial } from 'tritune';

/** How many settings differ between two assignments. */
function distance(one: Assignment, other: Assignment): number {
  const names = new Set([...Object.keys(one), ...Object.keys(other)]);
  return [...names].filter((name) => one[name] !== other[name]).length;
}

/** Requests per second at the level that the trial stands for; 0 where it did not meet the goal. */
function throughputOf({ measurements, chosen, feasible }: Trial): number {
  return feasible && chosen !== null ? (measurements[chosen]?.throughput.value ?? 0) : 0;
}

export const sampler: SamplerDefinition = {
  name: 'walk',
  create: (space) => ({
    // A pure function: the same history gives the same answer, so that a resumed study goes on as
    // it would have.
    ask: ({ trials }) => {
      const best = trials.toSorted((a, b) => throughputOf(b) - throughputOf(a))[0]?.candidate.assignment ?? {};
      const tried = new Set(trials.map(({ candidate }) => candidate.fingerprint));
      for (const assignment of space.assignments()) {
        // The original config is the empty assignment, from which everything is a step away.
        if (Object.keys(best).length > 0 && distance(assignment, best) > 1) continue;
        const built = space.build(assignment);
        if (!built.legal || tried.has(built.candidate.fingerprint)) continue;
        return { kind: 'trial', assignment, levels: { kind: 'search' } };
      }
      return { kind: 'stop', reason: 'every candidate one setting away from the best was tried' };
    },
  }),
};
