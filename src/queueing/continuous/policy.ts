/**
 * How an engine of a language model forms its steps: continuous batching (Orca, OSDI 2022), in which sequences join and leave between
 * steps, and chunked prefill (Sarathi-Serve, OSDI 2024), in which a long prompt shares steps with sequences that decode.
 */
export interface ContinuousPolicy {
  /** Sequences that run at once, at most. */
  readonly maxSequences: number;
  /** Tokens of one step, prompts and decoding together, at most; null for no limit. */
  readonly maxStepTokens: number | null;
  /** A prompt may be spread over several steps. Without it a prompt is one step, without decoding sequences. */
  readonly chunksPrefill: boolean;
  /** Tokens that the KV cache holds; null where that is never the limit. */
  readonly kvCacheTokens: number | null;
  /** Prompts that begin alike share the work of what they have in common. */
  readonly cachesPrefixes: boolean;
}
