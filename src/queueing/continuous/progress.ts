import { TrituneError } from '#base/errors.ts';
import type { Sequence } from './sequence.ts';
import type { StepWork } from './step-law.ts';

/** A sequence as the batcher keeps it. */
export interface Progress {
  readonly id: number;
  readonly sequence: Sequence;
  state: 'waiting' | 'prefilling' | 'decoding' | 'gone';
  /** Output tokens; while it decodes, those before `decodesFrom`. */
  emitted: number;
  /** The decoding step from which on it emits a token in each, and the one of its last token. */
  decodesFrom: number;
  finishesAt: number;
  /** Tokens to compute before the next one: the prompt, and after a preemption its output too. */
  needed: number;
  /** The number of these in the KV cache; all of them while it decodes. */
  computed: number;
  /** The number of computed tokens in the shared prefix. */
  shared: number;
}

/**
 * Returns a waiting sequence. Throws INPUT_INVALID for lengths other than whole numbers of at least
 * 1, or a prefix longer than the prompt.
 */
export function waitingProgress(id: number, sequence: Sequence): Progress {
  const { inputTokens, outputTokens, prefix } = sequence;
  if (!isCount(inputTokens)) refuse(`inputTokens ${inputTokens}`, 'give an integer of at least 1');
  if (!isCount(outputTokens)) refuse(`outputTokens ${outputTokens}`, 'give an integer of at least 1');
  if (prefix && !(prefix.tokens >= 1 && prefix.tokens <= inputTokens)) {
    refuse(`a prefix of ${prefix.tokens} tokens`, `give 1 to ${inputTokens}, as many as its prompt has`);
  }
  return {
    id,
    sequence,
    state: 'waiting',
    emitted: 0,
    decodesFrom: 0,
    finishesAt: 0,
    needed: inputTokens,
    computed: 0,
    shared: 0,
  };
}

const isCount = (tokens: number): boolean => Number.isInteger(tokens) && tokens >= 1;

function refuse(what: string, hint: string): never {
  throw new TrituneError('INPUT_INVALID', `a sequence cannot have ${what}`, hint);
}

/** Tokens of a prompt that one step computes. */
export interface Chunk {
  readonly progress: Progress;
  readonly tokens: number;
}

/**
 * Returns the work of a step with these chunks, which are not computed yet, and its decoding
 * sequences.
 */
export function sumWork(chunks: readonly Chunk[], decoding: number, contextTokens: number): StepWork {
  let [prefillTokens, prefillPairs] = [0, 0];
  for (const { progress, tokens } of chunks) {
    prefillTokens += tokens;
    prefillPairs += tokens * (progress.computed + tokens / 2);
  }
  return { prefillTokens, prefillPairs, decoding, contextTokens };
}
