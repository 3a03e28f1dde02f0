/**
 * The way a language model's engine forms its steps: continuous batching (Orca, OSDI 2022), in
 * which sequences join and leave between steps, and chunked prefill (Sarathi-Serve, OSDI 2024), in
 * which a long prompt shares steps with decoding sequences.
 */
export interface ContinuousPolicy {
  /** The most sequences that run at once. */
  readonly maxSequences: number;
  /** The most tokens of one step, prompts and decoding together; null for no limit. */
  readonly maxStepTokens: number | null;
  /** True if a prompt may be spread over several steps, beside decoding sequences. */
  readonly chunksPrefill: boolean;
  /**
   * For whole prompts: false if a step has either prompts or decoding sequences (vLLM V0, SGLang
   * without mixed chunks). True or absent: whole prompts run beside decoding sequences, if the step
   * has tokens for both (vLLM V1, TensorRT-LLM).
   */
  readonly mixesPrefill?: boolean;
  /** Tokens that the KV cache holds; null if it is never the limit. */
  readonly kvCacheTokens: number | null;
  /** True if prompts with the same beginning share the work on it. */
  readonly cachesPrefixes: boolean;
  /**
   * True if waiting sequences begin together, and only once none runs: static batching, as before
   * Orca. TensorRT-LLM's backend calls it `batching_strategy: v1`. Absent: they join between steps.
   */
  readonly isStatic?: boolean;
}

/** True if a step may have both prompts and decoding sequences. */
export const isMixed = ({ chunksPrefill, mixesPrefill = true }: ContinuousPolicy): boolean =>
  chunksPrefill || mixesPrefill;
