/** A request as an engine's scheduler sees it. All lengths are whole tokens. */
export interface Sequence {
  /** Tokens of the prompt, at least 1. */
  readonly inputTokens: number;
  /** Tokens at which the sequence ends, at least 1. */
  readonly outputTokens: number;
  /**
   * Tokens at the prompt's beginning that are known to be cached; 0 if absent, and under a policy
   * that caches no prefixes.
   */
  readonly cachedTokens?: number;
  /** The common beginning of the prompt and others; the batcher tracks whether it is cached. */
  readonly prefix?: SharedPrefix;
}

/** The beginning of several prompts. */
export interface SharedPrefix {
  /** Prompts with the same identifier begin alike. */
  readonly id: string | number;
  readonly tokens: number;
}
