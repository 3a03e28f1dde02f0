/** How the tokens of a reply were counted: by the server's usage figures, by a local tokenizer, or as one token per non-empty piece. */
export type TokenCounter = 'usage' | 'tokenizer' | 'pieces';

/** A complete streamed reply of a language model, with output in it. Times in nanoseconds. */
export interface TokenReply {
  /** From the sending to the first piece with any output in it, reasoning included. */
  readonly firstNs: number;
  /** From each piece with output to the next one; may be reused by the sender after `done`. */
  readonly gapsNs: readonly number[];
  readonly inputTokens: number;
  readonly outputTokens: number;
  /** Input tokens that the server had in its prefix cache, where it says so. */
  readonly cachedTokens?: number;
  readonly countedBy: TokenCounter;
  /** The whole answer without its reasoning, of a prompt that `wantsText`. */
  readonly text?: string;
}
