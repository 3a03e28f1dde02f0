import { type Distribution, wholeNumbers } from '#base/distribution.ts';
import { type Random, seededRandom } from '#base/random.ts';
import type { Prompt } from './prompt.ts';
import type { Conversation, PromptSource } from './prompt-source.ts';
import { SyntheticText } from './synthetic-text.ts';
import type { Tokenizer } from './tokenizer.ts';

/** Prompts of random words. */
export interface SyntheticRule {
  /** Tokens of each turn, without the shared prefix. */
  readonly inputTokens: Distribution;
  readonly outputTokens: Distribution;
  /** The number of different conversations. */
  readonly prompts: number;
  /**
   * The number of prefixes that prompts share; each prompt begins with a random one. 0 for none.
   */
  readonly prefixes: number;
  readonly prefixTokens: number;
  /** Number of turns in a conversation. */
  readonly turns: Distribution;
  /** Milliseconds that a user takes before each turn except the first. */
  readonly thinkMs: Distribution;
  readonly ignoresEnd: boolean;
  readonly seed: number;
}

/**
 * Makes the prompts of the rule, the same for the same seed; the tokenizer counts `inputTokens` of
 * each first turn.
 */
export function syntheticPrompts(rule: SyntheticRule, tokenizer: Tokenizer): PromptSource {
  const random = seededRandom(rule.seed);
  const texts = new SyntheticText(tokenizer);
  const prefixes = Array.from({ length: rule.prefixes }, () => texts.text(rule.prefixTokens, random).text);
  const draw = {
    inputTokens: wholeNumbers(rule.inputTokens, random, 1),
    outputTokens: wholeNumbers(rule.outputTokens, random, 1),
    turns: wholeNumbers(rule.turns, random, 1),
    thinkMs: wholeNumbers(rule.thinkMs, random, 0),
  };
  const turn = (prefix: string | undefined, isFirst: boolean): Prompt => {
    const body = texts.text(draw.inputTokens(), random);
    const content = prefix === undefined ? body.text : `${prefix} ${body.text}`;
    return {
      messages: [{ role: 'user', content }],
      inputTokens: prefix === undefined ? body.tokens : tokenizer.count(content),
      maxTokens: draw.outputTokens(),
      ignoresEnd: rule.ignoresEnd,
      ...(!isFirst && { thinkMs: draw.thinkMs() }),
    };
  };
  const conversations = Array.from({ length: rule.prompts }, (): Conversation => {
    const prefix = pickOne(prefixes, random);
    return Array.from({ length: draw.turns() }, (_, index) => turn(index === 0 ? prefix : undefined, index === 0));
  });
  return { conversations, arrivalsNs: null, notes: [] };
}

const pickOne = (texts: readonly string[], random: Random): string | undefined =>
  texts.length === 0 ? undefined : texts[random.int(0, texts.length - 1)];
