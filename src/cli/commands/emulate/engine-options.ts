import { type Command, Option } from 'commander';
import type { EngineSettings } from '../../../emulator/language/engine-settings.ts';
import type { OptionTable } from '../../options/option-table.ts';
import { positiveWhole, share } from '../../options/option-values.ts';

/** How an emulated engine of a language model is started, in vLLM's spelling. */
export interface EngineOptions {
  readonly maxNumSeqs?: number;
  readonly maxNumBatchedTokens?: number;
  readonly enableChunkedPrefill?: boolean;
  readonly enablePrefixCaching?: boolean;
  readonly gpuMemoryUtilization?: number;
  readonly numGpuBlocksOverride?: number;
  readonly kvCacheDtype?: EngineSettings['kv_cache_dtype'];
  readonly maxModelLen?: number;
}

const whole = (flag: string, help: string) => ({
  flags: `${flag} <n>`,
  help: `language model: ${help}`,
  parse: positiveWhole,
});
const yes = (flag: string, help: string) => ({
  flags: flag,
  help: `language model: ${help}; --no-${flag.slice(2)} for not`,
});

export const engineOptionTable: OptionTable<EngineOptions> = {
  maxNumSeqs: whole('--max-num-seqs', 'sequences that run at once'),
  maxNumBatchedTokens: whole('--max-num-batched-tokens', 'tokens of a step'),
  enableChunkedPrefill: yes('--enable-chunked-prefill', 'prompts are spread over steps'),
  enablePrefixCaching: yes('--enable-prefix-caching', 'prompts that begin alike share the work of it'),
  gpuMemoryUtilization: {
    flags: '--gpu-memory-utilization <share>',
    help: 'language model: share of the memory for weights and KV cache',
    parse: share,
  },
  numGpuBlocksOverride: whole('--num-gpu-blocks-override', 'blocks of 16 tokens in the KV cache'),
  kvCacheDtype: {
    flags: '--kv-cache-dtype <type>',
    help: 'language model: fp8 halves the KV cache',
    choices: ['auto', 'fp8', 'fp8_e4m3', 'fp8_e5m2'],
  },
  maxModelLen: whole('--max-model-len', 'tokens of a prompt and its answer'),
};

/** Adds the other side of the switches, out of sight. */
export function addEngineSwitches(command: Command): void {
  for (const name of ['chunked-prefill', 'prefix-caching']) {
    command.addOption(new Option(`--no-enable-${name}`).hideHelp());
  }
}

/** Returns the settings that were given, under the names of a profile. */
export function engineSettingsOf(options: EngineOptions): Partial<EngineSettings> {
  const settings: { readonly [name in keyof EngineSettings]: EngineSettings[name] | undefined } = {
    max_num_seqs: options.maxNumSeqs,
    max_num_batched_tokens: options.maxNumBatchedTokens,
    enable_chunked_prefill: options.enableChunkedPrefill,
    enable_prefix_caching: options.enablePrefixCaching,
    gpu_memory_utilization: options.gpuMemoryUtilization,
    num_gpu_blocks_override: options.numGpuBlocksOverride,
    kv_cache_dtype: options.kvCacheDtype,
    max_model_len: options.maxModelLen,
  };
  return Object.fromEntries(Object.entries(settings).filter(([, value]) => value !== undefined));
}
