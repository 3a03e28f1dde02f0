import type { Candidate } from '#space/types.ts';
import { representative } from '../final/final.ts';
import type { StudyState } from '../records/state.ts';

/**
 * The outcome of a study for programs. `better`: a gain of the best over the original config was
 * shown, or only the best meets the goal. `nothing-better`: the original config is as good as
 * anything that was tried. `unconfirmed`: the best of the search, without a comparison in turn that
 * shows its gain. `infeasible`: nothing meets the goal. `not-measured`: there are no figures.
 */
export const verdicts = ['better', 'nothing-better', 'unconfirmed', 'infeasible', 'not-measured'] as const;

export type Verdict = (typeof verdicts)[number];

/** Returns the verdict on a study, finished or not. */
export function toVerdict(state: StudyState): Verdict {
  const { best, baseline, gain } = state;
  const stands = best && representative(state, best);
  if (!stands) return 'not-measured';
  if (!stands.feasible) return 'infeasible';
  if (isOriginal(best.candidate, baseline?.candidate)) return 'nothing-better';
  return gain?.best === best.number ? (gain.verdict ?? 'unconfirmed') : 'unconfirmed';
}

/**
 * True if the best is the original config, also where a trial of the search measured it again at
 * other levels.
 */
export const isOriginal = (
  best: Fingerprinted | null | undefined,
  original: Fingerprinted | null | undefined,
): boolean => best?.fingerprint === original?.fingerprint;

type Fingerprinted = Pick<Candidate, 'fingerprint'>;

/**
 * True if there is a config to serve instead of the original one, confirmed or not, or the nearest
 * to the goal.
 */
export const isToEmit = ({ verdict, best, baseline }: Emittable): boolean =>
  verdict !== 'nothing-better' && verdict !== 'not-measured' && !isOriginal(best, baseline);

/** What a summary says of it. */
interface Emittable {
  readonly verdict: Verdict;
  readonly best: Fingerprinted | null;
  readonly baseline: Fingerprinted | null;
}
