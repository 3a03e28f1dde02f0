import { z } from 'zod';
import { formatMessage } from '#base/errors.ts';
import { BYTES_PER_MIB } from '#base/units.ts';
import type { ContinuousPolicy } from '#queueing/continuous/policy.ts';
import { NO_FILES, type UploadedFiles } from '../models/uploaded-files.ts';
import { ProtocolFailure } from '../wire/protocol-failure.ts';

const positive = z.number().positive();
const positiveWhole = z.int().positive();

/**
 * Start options of an engine, under vLLM's names (`vllm serve --help`, and `model.json` of Triton's
 * vLLM backend).
 */
const settings = {
  max_num_seqs: positiveWhole.describe('Most sequences in a step'),
  max_num_batched_tokens: positiveWhole.describe('Most tokens in a step'),
  enable_chunked_prefill: z.boolean().describe('Whether a prompt may be spread over steps'),
  enable_prefix_caching: z.boolean().describe('Whether equal beginnings of prompts are computed once'),
  gpu_memory_utilization: positive.max(1).describe('Share of the GPU memory for weights and KV cache'),
  num_gpu_blocks_override: positiveWhole
    .nullable()
    .describe('Size of the KV cache in blocks of 16 tokens, in place of the memory that is left'),
  kv_cache_dtype: z.enum(['auto', 'fp8', 'fp8_e4m3', 'fp8_e5m2']).describe('Type of the KV cache; fp8 takes half'),
  max_model_len: positiveWhole.describe('Longest sequence, prompt and reply, in tokens'),
};

export const engineSettings = z.strictObject({
  max_num_seqs: settings.max_num_seqs.default(256),
  max_num_batched_tokens: settings.max_num_batched_tokens.default(2048),
  enable_chunked_prefill: settings.enable_chunked_prefill.default(true),
  enable_prefix_caching: settings.enable_prefix_caching.default(true),
  gpu_memory_utilization: settings.gpu_memory_utilization.default(0.9),
  num_gpu_blocks_override: settings.num_gpu_blocks_override.default(null),
  kv_cache_dtype: settings.kv_cache_dtype.default('auto'),
  max_model_len: settings.max_model_len.default(4096),
});

export type EmulatedEngineSettings = z.infer<typeof engineSettings>;

/**
 * Settings that differ from the profile's; everything else in a `model.json` is about the model and
 * is ignored.
 */
const changes = z.looseObject(settings).partial();

const BLOCK_TOKENS = 16;

/**
 * Returns the settings, overridden by those of an uploaded `model.json`. Throws INVALID_ARGUMENT
 * for an invalid one.
 */
export function uploadedSettings(
  settings: EmulatedEngineSettings,
  files: UploadedFiles = NO_FILES,
): EmulatedEngineSettings {
  const [, content] = [...files].find(([name]) => name.endsWith('/model.json')) ?? [];
  if (!content) return settings;
  try {
    return changedSettings(settings, JSON.parse(Buffer.from(content).toString('utf8')));
  } catch (error) {
    throw new ProtocolFailure('INVALID_ARGUMENT', `model.json: ${formatMessage(error)}`);
  }
}

/** Returns the settings, overridden by these. Throws if one has an invalid value. */
export function changedSettings(engineSettings: EmulatedEngineSettings, changed: unknown): EmulatedEngineSettings {
  const checked = changes.safeParse(changed);
  if (!checked.success) {
    const [issue] = checked.error.issues;
    throw new TypeError(`${issue?.path.join('.')}: ${issue?.message}`);
  }
  const known = Object.entries(checked.data).filter(([name, value]) => name in settings && value !== undefined);
  return { ...engineSettings, ...Object.fromEntries(known) };
}

/** A model's needs of device memory. */
export interface LanguageMemory {
  readonly deviceMib: number;
  /** Weights and activations. */
  readonly modelMib: number;
  /** Bytes per token in the KV cache, at 16 bits. */
  readonly kvBytesPerToken: number;
}

/**
 * Returns the scheduler's policy; throws INVALID_ARGUMENT, in vLLM's manner, if the KV cache has no
 * room for the longest sequence.
 */
export function toPolicy(
  engine: EmulatedEngineSettings,
  { deviceMib, modelMib, kvBytesPerToken }: LanguageMemory,
): ContinuousPolicy {
  const bytes = engine.kv_cache_dtype === 'auto' ? kvBytesPerToken : kvBytesPerToken / 2;
  const freeMib = deviceMib * engine.gpu_memory_utilization - modelMib;
  const blocks = engine.num_gpu_blocks_override ?? Math.floor((freeMib * BYTES_PER_MIB) / bytes / BLOCK_TOKENS);
  if (blocks <= 0) {
    refuse(
      'No available memory for the cache blocks. Try increasing `gpu_memory_utilization` when initializing the engine.',
    );
  }
  const kvCacheTokens = blocks * BLOCK_TOKENS;
  if (kvCacheTokens < engine.max_model_len) {
    refuse(
      `The model's max seq len (${engine.max_model_len}) is larger than the maximum number of tokens that can be stored in KV cache ` +
        `(${kvCacheTokens}). Try increasing \`gpu_memory_utilization\` or decreasing \`max_model_len\` when initializing the engine.`,
    );
  }
  const { enable_chunked_prefill: chunksPrefill, max_num_batched_tokens: maxStepTokens } = engine;
  if (!chunksPrefill && maxStepTokens < engine.max_model_len) {
    refuse(
      `max_num_batched_tokens (${maxStepTokens}) is smaller than max_model_len (${engine.max_model_len}) without chunked prefill.`,
    );
  }
  return {
    maxSequences: engine.max_num_seqs,
    maxStepTokens,
    chunksPrefill,
    kvCacheTokens,
    cachesPrefixes: engine.enable_prefix_caching,
  };
}

function refuse(message: string): never {
  throw new ProtocolFailure('INVALID_ARGUMENT', message);
}
