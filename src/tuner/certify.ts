import { representative } from '../study/final/final.ts';
import { assess } from '../study/goal/goal.ts';
import { findChosen } from '../study/goal/ranking.ts';
import type { StudyState } from '../study/records/state.ts';
import type { Certificate, Trial } from '../study/types.ts';
import type { Planning } from './run.ts';

/**
 * Returns how much better than the best any config of the space can be, each at its own best level;
 * null where nothing meets the goal, or the sampler cannot tell. The sampler compares with the best
 * of its search; the final shows how much better that is than the best of the study.
 */
export function certifyBest({ recorder: { state }, sampler }: Planning): Certificate | null {
  const { best, compared, contender } = state;
  const level = best?.feasible && contender ? findChosen(contender)?.level : undefined;
  if (!contender || !level) return null;
  const certificate = sampler().certify?.({ trials: compared.trials }, contender.candidate, level) ?? null;
  if (certificate?.gain == null) return certificate;
  return { ...certificate, gain: Math.max(0, (1 + certificate.gain) * computeLead(state, contender) - 1) };
}

/** Returns the ratio of the search's best to the study's best, by what each stands for. */
function computeLead(state: StudyState, contender: Trial): number {
  const { best, goal } = state;
  // A lower level, for safety, does not make it another config.
  if (!best || best.candidate.fingerprint === contender.candidate.fingerprint) return 1;
  const [of, over] = [representative(state, contender), representative(state, best)];
  if (!of || !over) return 1;
  return Math.exp(
    assess(over.compared, best.candidate, goal).cost - assess(of.compared, contender.candidate, goal).cost,
  );
}
