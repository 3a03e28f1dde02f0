import { commonWords } from '#base/common-words.ts';
import type { Random } from '#base/random.ts';
import type { Tokenizer } from './tokenizer.ts';

/** A text and its number of tokens. */
export interface SizedText {
  readonly text: string;
  readonly tokens: number;
}

/** The maximum number of times to lengthen or shorten a text until it has the requested tokens. */
const MAX_CORRECTIONS = 12;
/** With fewer one-token words the texts would be too similar. */
const FEWEST_WORDS = 32;

/** Makes random texts of given lengths from common words. */
export class SyntheticText {
  readonly #tokenizer: Tokenizer;
  readonly #words: readonly string[];

  constructor(tokenizer: Tokenizer) {
    this.#tokenizer = tokenizer;
    const before = tokenizer.count('the');
    const single = commonWords.filter((word) => tokenizer.count(`the ${word}`) === before + 1);
    this.#words = single.length < FEWEST_WORDS ? commonWords : single;
  }

  /**
   * Returns a text of this many tokens, or as close to it as words allow; `tokens` of the result
   * are counted.
   */
  text(tokens: number, random: Random): SizedText {
    const words = Array.from({ length: tokens }, () => this.#word(random));
    let text = words.join(' ');
    let counted = this.#tokenizer.count(text);
    for (let turn = 0; turn < MAX_CORRECTIONS && counted !== tokens; turn++) {
      if (counted > tokens) words.length = Math.max(1, words.length - Math.ceil((counted - tokens) / (turn + 1)));
      else for (let missing = tokens - counted; missing > 0; missing--) words.push(this.#word(random));
      text = words.join(' ');
      counted = this.#tokenizer.count(text);
    }
    return { text, tokens: counted };
  }

  #word(random: Random): string {
    return this.#words[random.int(0, this.#words.length - 1)] as string;
  }
}
