import { commonWords } from '../../base/common-words.ts';
import type { Random } from '../../base/random.ts';
import { tokenPieces } from '../../base/tokens.ts';
import type { Distribution } from '../../stats/distribution.ts';
import { wholeNumbers } from '../../stats/distribution.ts';
import type { FinishReason } from './engine-figures.ts';

/** What a request says of the answer that it wants. */
export interface AnswerWish {
  /** null: as long as there is place for. */
  readonly maxTokens: number | null;
  readonly minTokens: number;
  readonly ignoresEnd: boolean;
  /** Texts with which the answer ends, which are not in it. */
  readonly stops: readonly string[];
}

/** An answer, token by token; all of a text together is its text. */
export interface Answer {
  readonly tokens: readonly string[];
  readonly finish: Extract<FinishReason, 'stop' | 'length'>;
  /** The stop that ended it was cut off: the text is shorter than its tokens. */
  readonly text: string;
}

/** Returns the tokens of a text as the emulator counts them: a piece of more than 8 bytes is several. */
export const tokensOf = (text: string): readonly string[] =>
  tokenPieces(text).flatMap((piece) => {
    const count = Math.ceil(Buffer.byteLength(piece) / 8);
    return count === 1 ? piece : Array.from({ length: count }, (_, index) => `${piece}#${index}`);
  });

/** Answers with random words of one token each, which end by themselves after a length of the model's own. */
export class Answerer {
  readonly #random: Random;
  readonly #ownLength: () => number;

  constructor(ownTokens: Distribution, random: Random) {
    this.#random = random;
    this.#ownLength = wholeNumbers(ownTokens, random, 1);
  }

  /** `most`: tokens that there is place for, at least 1. */
  answer({ maxTokens, minTokens, ignoresEnd, stops }: AnswerWish, most: number): Answer {
    const limit = Math.min(maxTokens ?? most, most);
    const own = ignoresEnd ? limit : Math.max(minTokens, this.#ownLength());
    const length = Math.max(1, Math.min(limit, own));
    const words = Array.from({ length }, (_, index) => `${index === 0 ? '' : ' '}${this.#word()}`);
    const stopped = stoppedAt(words, minTokens, stops);
    if (stopped) return { ...stopped, finish: 'stop' };
    return { tokens: words, text: words.join(''), finish: own < limit ? 'stop' : 'length' };
  }

  #word(): string {
    return commonWords[this.#random.int(0, commonWords.length - 1)] as string;
  }
}

/** Cuts an answer off behind the token that completes a stop. */
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
