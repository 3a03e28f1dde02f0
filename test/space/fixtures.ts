import { mkdtempSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { isTrituneError, type TrituneError } from '#base/errors.ts';
import { loadSpace } from '#space/source/load.ts';
import type { Limits, SearchSpace } from '#space/types.ts';
import type { ModelConfig } from '#triton/config/model-config.ts';

/**
 * A model on the CPU as a server describes it: with the names and sizes that the server filled in.
 */
export const cpuModel: ModelConfig = {
  name: 'mlp',
  backend: 'onnxruntime',
  max_batch_size: 8,
  input: [{ name: 'X', data_type: 'TYPE_FP32', dims: [4] }],
  output: [{ name: 'Y', data_type: 'TYPE_FP32', dims: [4] }],
  instance_group: [{ name: 'mlp_0', count: 1, kind: 'KIND_CPU' }],
  dynamic_batching: { preferred_batch_size: [8] },
  version_policy: { latest: { num_versions: 1 } },
  optimization: { input_pinned_memory: { enable: true }, output_pinned_memory: { enable: true } },
};

export const gpuModel: ModelConfig = {
  ...cpuModel,
  instance_group: [{ name: 'mlp_0', count: 1, kind: 'KIND_GPU', gpus: [0] }],
};

/** Files of their own folder; the first is loaded. */
export function folderOf(files: Readonly<Record<string, string>>): string {
  const folder = mkdtempSync(join(tmpdir(), 'tritune-space-'));
  for (const [name, text] of Object.entries(files)) writeFileSync(join(folder, name), text);
  return folder;
}

/** The space of a file `my.yaml` with this text. */
export function spaceOf(text: string, limits: Limits = {}): SearchSpace {
  return loadSpace('my.yaml', { directory: folderOf({ 'my.yaml': text }), limits });
}

/** The error that loading the text gives. */
export function faultOf(text: string, others: Readonly<Record<string, string>> = {}): TrituneError {
  const directory = folderOf({ 'my.yaml': text, ...others });
  try {
    loadSpace('my.yaml', { directory });
  } catch (error) {
    if (isTrituneError(error)) return error;
    throw error;
  }
  throw new Error('the text was accepted');
}
