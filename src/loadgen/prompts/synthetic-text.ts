import { commonWords } from '../../base/common-words.ts';
import type { Random } from '../../base/random.ts';
import type { Tokenizer } from './tokenizer.ts';

/** A text, and how many tokens it has. */
export interface SizedText {
  readonly text: string;
  readonly tokens: number;
}

/** Texts are made longer or shorter so often at most, until they have the tokens that were asked for. */
const MOST_CORRECTIONS = 12;
/** With fewer words of one token texts would be too much alike. */
const FEWEST_WORDS = 32;

/** Makes texts of given lengths out of common words, at random. */
export class SyntheticText {
  readonly #tokenizer: Tokenizer;
  readonly #words: readonly string[];

  constructor(tokenizer: Tokenizer) {
    this.#tokenizer = tokenizer;
    const before = tokenizer.count('the');
    const single = commonWords.filter((word) => tokenizer.count(`the ${word}`) === before + 1);
    this.#words = single.length < FEWEST_WORDS ? commonWords : single;
  }

  /** Returns a text of this many tokens, or as near to that as words come; `tokens` of the result are counted. */
  text(tokens: number, random: Random): SizedText {
    const words = Array.from({ length: tokens }, () => this.#word(random));
    let text = words.join(' ');
    let counted = this.#tokenizer.count(text);
    for (let turn = 0; turn < MOST_CORRECTIONS && counted !== tokens; turn++) {
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
