import { adviceOf } from './explain/advice.ts';
import { type Credit, creditOf } from './explain/credit.ts';
import { type Limit, limitOf } from './explain/limit.ts';
import { type TimeSplit, timeSplitOf } from './explain/time-split.ts';
import { adviceSentence, creditSentences, limitSentence, splitSentences, type Told } from './explain/words.ts';
import { representative } from './final.ts';
import type { StudyState } from './state.ts';
import type { Trial } from './types.ts';

/** Why the best is the best, and what keeps it from being better: numbers, and the same in plain words. */
export interface Explanation {
  readonly trial: number;
  /** Of the original config; null when it is the best itself, or was not measured. */
  readonly before: TimeSplit | null;
  readonly after: TimeSplit;
  /** null when the best is the original config, and when nothing is known of what it changes. */
  readonly credit: Credit | null;
  readonly limit: Limit & { readonly words: string };
  /** What to try outside the config. */
  readonly advice: readonly string[];
  /** All of it in plain words; `text` is the same as one paragraph. */
  readonly sentences: readonly string[];
  readonly text: string;
}

/** Pure: the same state gives the same explanation. null when nothing was measured. */
export function explainBest(state: StudyState): Explanation | null {
  const { best, baseline, goal } = state;
  const after = best && toldOf(state, best);
  if (!best || !after) return null;
  const before = baseline && baseline.number !== best.number ? toldOf(state, baseline) : null;
  const { measurement, split } = after;
  const credit = creditOf(state, best, measurement);
  const found = limitOf(state, best, measurement, split);
  const limit = { ...found, words: limitSentence(found, measurement, goal) };
  const advice = adviceOf(state, best, measurement, split, limit);
  const sentences = [
    ...standing(state, best),
    ...splitSentences(before, after),
    ...(credit ? creditSentences(credit, measurement, goal) : []),
    limit.words,
    ...adviceSentence(advice),
  ];
  return {
    trial: best.number,
    before: before?.split ?? null,
    after: split,
    credit,
    limit,
    advice,
    sentences,
    text: sentences.join(' '),
  };
}

function toldOf(state: StudyState, trial: Trial): Told | null {
  const measurement = representative(state, trial)?.measurement;
  const split = measurement && timeSplitOf(measurement, trial.candidate.config);
  return split ? { split, measurement } : null;
}

/** What there is to know before the numbers: that the best is the original, misses the goal, or has nothing to stand against. */
function standing(state: StudyState, best: Trial): readonly string[] {
  const { baseline, gain } = state;
  const isFeasible = representative(state, best)?.feasible ?? false;
  const missed = isFeasible ? [] : ['Nothing met the goal; this is about the nearest to it.'];
  const { rejected } = gain ?? {};
  if (baseline?.number === best.number) {
    const but = rejected ? `trial ${rejected.trial} seemed better, but ${rejected.reason}` : 'nothing better was found';
    return [...missed, `The original config stays: ${but}.`];
  }
  const instead = rejected
    ? [`Trial ${rejected.trial} seemed better, but ${rejected.reason}, which ended before this one was measured again.`]
    : [];
  const isComparable = baseline !== null && toldOf(state, baseline) !== null;
  return [
    ...missed,
    ...instead,
    ...(isComparable ? [] : ['The original config was not measured, so there is no before.']),
  ];
}
