import type { Random } from '../../base/random.ts';
import { buildCandidate } from '../../space/candidate.ts';
import { completeAssignment } from '../../space/complete.ts';
import { assignments, sampleAssignment } from '../../space/enumerate.ts';
import { type Narrowing, whyRuledOut } from '../../space/narrowing.ts';
import type { Assignment, Candidate, CandidateOutcome, SearchSpace } from '../../space/types.ts';
import type { ModelConfig } from '../../triton/model-config.ts';
import { pruneReason } from '../pruning.ts';
import type { History } from '../types.ts';
import { perHistory } from './per-history.ts';

/** What a sampler needs of a search space over one base config. */
export interface SpaceView {
  /** Every assignment in the space's own order, which varies instances fastest. */
  assignments(): Iterable<Assignment>;
  /** One assignment at random. */
  sample(random: Random): Assignment;
  /** The wanted values where they apply, and a random value for every other parameter that does; null where none is left for one. */
  complete(wanted: Assignment, random: Random): Assignment | null;
  build(assignment: Assignment): CandidateOutcome;
}

/**
 * The search space over the base config as samplers see it: without what the narrowing rules out, whichever way they ask.
 * Errors of its `sample`: SPACE_INVALID when nothing is left.
 */
export function viewSpace(space: SearchSpace, base: ModelConfig, narrowing: Narrowing = {}): SpaceView {
  return {
    assignments: () => assignments(space, base, narrowing),
    sample: (random) => sampleAssignment(space, base, random, narrowing),
    complete: (wanted, random) => completeAssignment(space, base, wanted, random, narrowing),
    build: (assignment) => {
      const reason = whyRuledOut(narrowing, assignment);
      return reason === null ? buildCandidate(space, base, assignment) : { legal: false, reason };
    },
  };
}

const triedIn = perHistory((trials) => new Set(trials.map(({ candidate }) => candidate.fingerprint)));

/** The assignment's candidate when it is worth a trial: legal, not tried yet, and not known to fail. */
export function untried(space: SpaceView, assignment: Assignment, history: History): Candidate | null {
  const outcome = space.build(assignment);
  if (!outcome.legal) return null;
  const { candidate } = outcome;
  if (triedIn(history.trials).has(candidate.fingerprint)) return null;
  return pruneReason(candidate, history.trials) === null ? candidate : null;
}
