import { type Command, Option } from 'commander';
import type { EmulatedEngineSettings } from '#emulator/language/engine-settings.ts';
import { type OptionTable, under } from '../options/option-table.ts';
import { positiveWhole, share } from '../options/option-values.ts';

/** The options of an emulated language model engine, in vLLM's spelling. */
export interface EngineOptions {
  readonly maxNumSeqs?: number;
  readonly maxNumBatchedTokens?: number;
  readonly enableChunkedPrefill?: boolean;
  readonly enablePrefixCaching?: boolean;
  readonly gpuMemoryUtilization?: number;
  readonly numGpuBlocksOverride?: number;
  readonly kvCacheDtype?: EmulatedEngineSettings['kv_cache_dtype'];
  readonly maxModelLen?: number;
}

const whole = (flag: string, help: string) => ({
  flags: `${flag} <n>`,
  help,
  parse: positiveWhole,
});
const yes = (flag: string, help: string) => ({
  flags: flag,
  help: `${help}; --no-${flag.slice(2)} turns it off`,
});

export const engineOptionTable: OptionTable<EngineOptions> = under<EngineOptions>('Language models', {
  maxNumSeqs: whole('--max-num-seqs', 'Sequences that run at once'),
  maxNumBatchedTokens: whole('--max-num-batched-tokens', 'Tokens in a step'),
  enableChunkedPrefill: yes('--enable-chunked-prefill', 'Spread prompts over several steps'),
  enablePrefixCaching: yes('--enable-prefix-caching', 'Reuse the work of shared prefixes'),
  gpuMemoryUtilization: {
    flags: '--gpu-memory-utilization <share>',
    help: 'Share of the GPU memory for weights and KV cache, 0 to 1',
    parse: share,
  },
  numGpuBlocksOverride: whole('--num-gpu-blocks-override', 'Blocks of 16 tokens in the KV cache'),
  kvCacheDtype: {
    flags: '--kv-cache-dtype <type>',
    help: 'Type of the KV cache; fp8 halves its size',
    choices: ['auto', 'fp8', 'fp8_e4m3', 'fp8_e5m2'],
  },
  maxModelLen: whole('--max-model-len', 'Tokens of a prompt and its reply together'),
});

/** Adds the opposite of the switches, hidden from the help. */
export function addEngineSwitches(command: Command): void {
  for (const name of ['chunked-prefill', 'prefix-caching']) {
    command.addOption(new Option(`--no-enable-${name}`).hideHelp());
  }
}

/** Returns the given settings, under the names of a profile. */
export function toEngineSettings(options: EngineOptions): Partial<EmulatedEngineSettings> {
  const settings: { readonly [name in keyof EmulatedEngineSettings]: EmulatedEngineSettings[name] | undefined } = {
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
