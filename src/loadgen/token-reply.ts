/**
 * How the tokens of a reply were counted: by the server's usage figures, by a local tokenizer, or
 * as one token per non-empty piece.
 */
export type TokenCounter = 'usage' | 'tokenizer' | 'pieces';

/** A complete reply of a language model with some output. Times are in nanoseconds. */
export interface TokenReply {
  /**
   * From the sending to the first piece with any output in it, reasoning included; null for a reply
   * that came whole.
   */
  readonly firstNs: number | null;
  /** From each piece with output to the next one; the sender may reuse the array after `done`. */
  readonly gapsNs: readonly number[];
  readonly inputTokens: number;
  readonly outputTokens: number;
  /** Input tokens found in the server's prefix cache; absent if the server does not report them. */
  readonly cachedTokens?: number;
  readonly countedBy: TokenCounter;
  /** The whole answer without its reasoning, for a prompt with `wantsText`. */
  readonly text?: string;
}
