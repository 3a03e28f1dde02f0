import type { Random } from '../../base/random.ts';
import type { Assignment, Candidate, CandidateOutcome } from '../../space/types.ts';
import { pruneReason } from '../pruning.ts';
import type { History } from '../types.ts';

/** What a sampler needs of a search space over one base config. */
export interface SpaceView {
  /** Every assignment in the space's own order, which varies instances fastest. */
  assignments(): Iterable<Assignment>;
  /** One assignment at random. */
  sample(random: Random): Assignment;
  build(assignment: Assignment): CandidateOutcome;
}

/** The assignment's candidate when it is worth a trial: legal, not tried yet, and not known to fail. */
export function untried(space: SpaceView, assignment: Assignment, history: History): Candidate | null {
  const outcome = space.build(assignment);
  if (!outcome.legal) return null;
  const { candidate } = outcome;
  if (history.trials.some((trial) => trial.candidate.fingerprint === candidate.fingerprint)) return null;
  return pruneReason(candidate, history.trials) === null ? candidate : null;
}
