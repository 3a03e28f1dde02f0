import { canonicalJson, type Json } from '#base/json.ts';
import type { Narrowing } from '#space/narrowing.ts';
import type { StudyState } from '#study/records/state.ts';
import type { Goal, Sampler } from '#study/types.ts';
import type { TuneParts } from './run.ts';

/** The purpose of a sampler: the user may change it during the run. */
type Aim = Pick<StudyState, 'goal' | 'narrowing'>;

/**
 * Returns the sampler for an aim; creates a new one only when the aim changes. `ownGoal`: the aim
 * of `sampler`.
 */
export function currentSampler(
  { sampler, samplerFor }: Pick<TuneParts, 'sampler' | 'samplerFor'>,
  ownGoal: Goal,
): (aim: Aim) => Sampler {
  let made = { aim: { goal: ownGoal, narrowing: {} as Narrowing }, sampler };
  return ({ goal, narrowing }) => {
    const aim = { goal, narrowing };
    if (samplerFor && !sameAim(aim, made.aim)) made = { aim, sampler: samplerFor(goal, narrowing) };
    return made.sampler;
  };
}

function sameAim(a: Aim, b: Aim): boolean {
  if (a.goal === b.goal && a.narrowing === b.narrowing) return true;
  return canonicalJson(a as unknown as Json) === canonicalJson(b as unknown as Json);
}
