/**
 * The way a language model's engine forms its steps: continuous batching (Orca, OSDI 2022), in which sequences join and leave between steps, and
 * chunked prefill (Sarathi-Serve, OSDI 2024), in which a long prompt shares steps with decoding sequences.
 */
export interface ContinuousPolicy {
  /** The most sequences that run at once. */
  readonly maxSequences: number;
  /** The most tokens of one step, prompts and decoding together; null for no limit. */
  readonly maxStepTokens: number | null;
  /** True if a prompt may be spread over several steps. Otherwise a prompt is one step, without decoding sequences. */
  readonly chunksPrefill: boolean;
  /** Tokens that the KV cache holds; null if it is never the limit. */
  readonly kvCacheTokens: number | null;
  /** True if prompts with the same beginning share the work on it. */
  readonly cachesPrefixes: boolean;
  /**
   * True if waiting sequences begin together, and only once none runs: static batching, as before Orca. TensorRT-LLM's backend calls it
   * `batching_strategy: v1`. Absent: they join between steps.
   */
  readonly isStatic?: boolean;
}
