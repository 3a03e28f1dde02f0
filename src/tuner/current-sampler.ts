import { canonicalJson, type Json } from '../base/json.ts';
import type { Narrowing } from '../space/narrowing.ts';
import type { StudyState } from '../study/records/state.ts';
import type { Goal, Sampler } from '../study/types.ts';
import type { TuneParts } from './run.ts';

/** What a sampler is made for: a person may change it while the run goes on. */
type Aim = Pick<StudyState, 'goal' | 'narrowing'>;

/** Gives the sampler for an aim; a new one is made only when the aim is another than before. `own`: the one that `sampler` is for. */
export function currentSampler(
  { sampler, samplerFor }: Pick<TuneParts, 'sampler' | 'samplerFor'>,
  own: Goal,
): (aim: Aim) => Sampler {
  let made = { aim: { goal: own, narrowing: {} as Narrowing }, sampler };
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
