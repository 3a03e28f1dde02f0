import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';

/** The emulated language model of `languageProfile`. */
export const TALK = 'talk';
const SETTINGS = { model: 'made-up', max_num_seqs: 8 };
const SPACE = `extends: engines/vllm
drop: [max_num_batched_tokens, enable_chunked_prefill, enable_prefix_caching, gpu_memory_utilization, kv_cache_dtype, speculative, step-holds-prompt]
parameters: { max_num_seqs: [4, 16] }
`;

/**
 * Writes the files that a study of that model names. Returns the options of a short study: few
 * prompts with short replies, at one level.
 */
export async function smallLanguageStudy(folder: string): Promise<readonly string[]> {
  const [settings, space] = [join(folder, 'model.json'), join(folder, 'language-space.yaml')];
  await writeFile(settings, JSON.stringify(SETTINGS));
  await writeFile(space, SPACE);
  return [
    ...['--engine-settings', settings, '--space', space, '--sampler', 'grid', '--concurrency', '2:2'],
    ...['--input-tokens', '8', '--output-tokens', '4', '--prompts', '16', '--precision', '50'],
    ...['--objective', 'output-token-throughput'],
  ];
}
