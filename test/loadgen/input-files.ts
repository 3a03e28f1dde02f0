import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { onTestFinished } from 'vitest';
import { type PreparedInputs, readInputs, type SuppliedInputOptions } from '#loadgen/inputs.ts';
import type { ModelConfig, TensorConfig } from '#triton/config/model-config.ts';
import type { ModelMetadata } from '#triton/types.ts';

/**
 * A tensor of a test model: data type, dimensions without the batch, and what its config says of
 * it.
 */
export type TestTensor = readonly [datatype: string, dims: readonly number[], config?: Partial<TensorConfig>];

export interface TestModel {
  readonly maxBatchSize?: number;
  readonly inputs: Readonly<Record<string, TestTensor>>;
  readonly outputs?: Readonly<Record<string, TestTensor>>;
}

export function modelOf({ maxBatchSize = 0, inputs, outputs = {} }: TestModel): {
  metadata: ModelMetadata;
  config: ModelConfig;
} {
  const metadataOf = (tensors: Readonly<Record<string, TestTensor>>) =>
    Object.entries(tensors).map(([name, [datatype, dims, config]]) => ({
      name,
      datatype,
      shape: maxBatchSize > 0 && !config?.is_shape_tensor ? [-1, ...dims] : dims,
    }));
  const configOf = (tensors: Readonly<Record<string, TestTensor>>): TensorConfig[] =>
    Object.entries(tensors).map(([name, [datatype, dims, config]]) => ({
      name,
      data_type: `TYPE_${datatype}`,
      dims,
      ...config,
    }));
  return {
    metadata: { name: 'm', versions: ['1'], platform: 'p', inputs: metadataOf(inputs), outputs: metadataOf(outputs) },
    config: { max_batch_size: maxBatchSize, input: configOf(inputs), output: configOf(outputs) },
  };
}

/** A directory that ends with the test, with these files in it. */
export async function filesForTest(files: Readonly<Record<string, string | Uint8Array>>): Promise<string> {
  const directory = await mkdtemp(join(tmpdir(), 'tritune-inputs-'));
  onTestFinished(() => rm(directory, { recursive: true, force: true }));
  for (const [name, content] of Object.entries(files)) await writeFile(join(directory, name), content);
  return directory;
}

/** The requests of one JSON file with this content; a text is the file as it is. */
export async function requestsOfJson(
  model: TestModel,
  json: unknown,
  options: Partial<SuppliedInputOptions> = {},
): Promise<PreparedInputs> {
  const directory = await filesForTest({ 'data.json': typeof json === 'string' ? json : JSON.stringify(json) });
  const { metadata, config } = modelOf(model);
  return readInputs(metadata, config, { batch: 1, paths: [join(directory, 'data.json')], ...options });
}
