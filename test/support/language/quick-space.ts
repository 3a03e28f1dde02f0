/**
 * A search space for `quick-engine.ts`: that of vLLM with one value for each setting which the
 * engine knows.
 */
export const quickSpace = (maxSequences: number): object => ({
  extends: 'engines/vllm',
  drop: ['enable_chunked_prefill', 'step-holds-prompt', 'gpu_memory_utilization', 'speculative', 'kv_cache_dtype'],
  parameters: { max_num_seqs: [maxSequences], max_num_batched_tokens: [64], enable_prefix_caching: [true] },
});
