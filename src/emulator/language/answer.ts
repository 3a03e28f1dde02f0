import { commonWords } from '#base/common-words.ts';
import { type Distribution, wholeNumbers } from '#base/distribution.ts';
import type { Random } from '#base/random.ts';
import type { TextCall } from '../wire/infer-call.ts';
import type { FinishReason } from './engine-figures.ts';

/** The part of a request that describes the wanted answer. */
type AnswerWish = Pick<TextCall, 'maxTokens' | 'minTokens' | 'ignoresEnd' | 'stops'>;

/** An answer. */
export interface Answer {
  /** Pieces of text that are written one after another. */
  readonly tokens: readonly string[];
  /** All tokens together, without the stop text that ended them. */
  readonly text: string;
  readonly finish: Extract<FinishReason, 'stop' | 'length'>;
}

/** Answers with random one-token words, and ends after a length that the model chooses. */
export class Answerer {
  readonly #random: Random;
  readonly #ownLength: () => number;

  constructor(ownTokens: Distribution, random: Random) {
    this.#random = random;
    this.#ownLength = wholeNumbers(ownTokens, random, 1);
  }

  /** `most`: the number of tokens that there is room for, at least 1. */
  answer({ maxTokens, minTokens, ignoresEnd, stops }: AnswerWish, most: number): Answer {
    const limit = Math.min(maxTokens ?? most, most);
    const ownLength = ignoresEnd ? limit : Math.max(minTokens, this.#ownLength());
    const length = Math.max(1, Math.min(limit, ownLength));
    const words = Array.from({ length }, (_, index) => `${index === 0 ? '' : ' '}${this.#word()}`);
    const stopped = stoppedAt(words, minTokens, stops);
    if (stopped) return { ...stopped, finish: 'stop' };
    return { tokens: words, text: words.join(''), finish: ownLength < limit ? 'stop' : 'length' };
  }

  #word(): string {
    return commonWords[this.#random.int(0, commonWords.length - 1)] as string;
  }
}

/** Cuts an answer off after the token that completes a stop text. */
function stoppedAt(
  words: readonly string[],
  minTokens: number,
  stops: readonly string[],
): Omit<Answer, 'finish'> | null {
  if (stops.length === 0) return null;
  let text = '';
  for (const [index, word] of words.entries()) {
    text += word;
    const at = index + 1 < minTokens ? [] : stops.map((stop) => text.indexOf(stop)).filter((place) => place >= 0);
    if (at.length > 0) return { tokens: words.slice(0, index + 1), text: text.slice(0, Math.min(...at)) };
  }
  return null;
}
