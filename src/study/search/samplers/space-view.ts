import type { Random } from '#base/random.ts';
import { buildCandidate } from '#space/candidate.ts';
import { completeAssignment } from '#space/complete.ts';
import { expensiveParameters } from '#space/describe.ts';
import { assignments, sampleAssignment } from '#space/enumerate.ts';
import { expectedTime } from '#space/expected-time.ts';
import { type Narrowing, whyRuledOut } from '#space/narrowing.ts';
import { VARIANT } from '#space/source/variants.ts';
import type { Assignment, Candidate, CandidateOutcome, SearchSpace } from '#space/types.ts';
import type { History } from '../../types.ts';
import { pruneReason } from '../pruning.ts';
import { perHistory } from './per-history.ts';

/** The search space over one base config, as a sampler needs it. */
export interface SpaceView {
  /** Returns every assignment in the space's own order, in which instances vary fastest. */
  assignments(): Iterable<Assignment>;
  /** Draws one assignment. */
  sample(random: Random): Assignment;
  /**
   * Returns an assignment with the wanted values where they apply, and random values for all other
   * parameters; null if a parameter has no value left.
   */
  complete(assignment: Assignment, random: Random): Assignment | null;
  /** Returns the candidate of an assignment, or why it is not legal. */
  build(assignment: Assignment): CandidateOutcome;
  /**
   * Returns the expected execution time relative to other candidates, before any measurement; 1
   * without an expectation. `model` selects one of several models that are tuned together.
   */
  expectedTime?(candidate: Candidate, model?: string): number;
  /** Names of parameters whose change is said to make a load slow (`change: expensive`). */
  readonly slowLoads?: readonly string[];
  /**
   * Returns the legal assignments that differ in one parameter of one model; only for models that
   * are tuned together.
   */
  neighbours?(assignment: Assignment): Iterable<Assignment>;
}

/**
 * Returns the search space over the base config without what the narrowing rules out. Errors of its
 * `sample`: SPACE_INVALID when nothing is left.
 */
export function viewSpace(space: SearchSpace, base: Candidate, narrowing: Narrowing = {}): SpaceView {
  return {
    assignments: () => assignments(space, base, narrowing),
    sample: (random) => sampleAssignment(space, base, random, narrowing),
    complete: (assignment, random) => completeAssignment(space, base, assignment, random, narrowing),
    build: (assignment) => {
      const reason = whyRuledOut(narrowing, assignment);
      return reason === null ? buildCandidate(space, base, assignment) : { legal: false, reason };
    },
    ...(space.parameters.some(({ expects }) => expects.size > 0) && {
      expectedTime: oncePerCandidate((candidate) => expectedTime(space, base, candidate)),
    }),
    slowLoads: slowLoads(space, base),
  };
}

/**
 * Returns the parameters whose change makes a load slow; not the choice among variants, whose
 * builds have their own time (`Preparation`).
 */
export const slowLoads = (space: SearchSpace, base: Candidate): readonly string[] =>
  expensiveParameters(space, base).filter((name) => name !== VARIANT);

/** The sampler asks for the same candidates at every step. */
function oncePerCandidate(of: (candidate: Candidate) => number): (candidate: Candidate) => number {
  const known = new WeakMap<Candidate, number>();
  return (candidate) => {
    const value = known.get(candidate) ?? of(candidate);
    known.set(candidate, value);
    return value;
  };
}

const triedIn = perHistory((trials) => new Set(trials.map(({ candidate }) => candidate.fingerprint)));

/**
 * Returns the assignment's candidate when it is worth a trial: legal, untried, and not known to
 * fail; else null.
 */
export function untried(space: SpaceView, assignment: Assignment, history: History): Candidate | null {
  const outcome = space.build(assignment);
  if (!outcome.legal) return null;
  const { candidate } = outcome;
  if (triedIn(history.trials).has(candidate.fingerprint)) return null;
  return pruneReason(candidate, history.trials) === null ? candidate : null;
}
