import { representative } from '#study/final/final.ts';
import { assess } from '#study/goal/goal.ts';
import { findChosen } from '#study/goal/ranking.ts';
import type { StudyState } from '#study/records/state.ts';
import type { Certificate, Trial } from '#study/types.ts';
import type { Planning } from './run.ts';

/**
 * Returns how much better than the best any config of the space can be, each at its own best level;
 * null where nothing meets the goal, or the sampler cannot tell. The sampler compares with the best
 * of its search; the final shows how much better that is than the best of the study. Where the
 * search's best met the goal in the final only, the level is the one that the study recommends.
 */
export function certifyBest({ recorder: { state }, sampler }: Planning): Certificate | null {
  const { best, compared, contender } = state;
  const stands = best ? representative(state, best) : null;
  if (!best || !stands?.feasible) return null;
  const searched = contender?.feasible ? findChosen(contender) : undefined;
  const [trial, { level }] = contender && searched ? [contender, searched] : [best, stands.measurement];
  const certificate = sampler().certify?.({ trials: compared.trials }, trial.candidate, level) ?? null;
  if (certificate?.gain == null) return certificate;
  return { ...certificate, gain: (1 + certificate.gain) * computeLead(state, trial) - 1 };
}

/** Returns the ratio of a trial to the study's best, by what each stands for; at least 1. */
function computeLead(state: StudyState, trial: Trial): number {
  const { best, goal } = state;
  // A lower level, for safety, does not make it another config.
  if (!best || best.candidate.fingerprint === trial.candidate.fingerprint) return 1;
  const [of, over] = [representative(state, trial), representative(state, best)];
  if (!of || !over) return 1;
  const lead = assess(over.compared, best.candidate, goal).cost - assess(of.compared, trial.candidate, goal).cost;
  return Math.exp(Math.max(0, lead));
}
