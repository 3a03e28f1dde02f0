import { onTestFinished } from 'vitest';
import { loadProfile } from '#emulator/profile/profiles.ts';
import { type EmulatorProfile, emulatorSchema } from '#emulator/profile/schema.ts';
import { type Emulator, type EmulatorOptions, startEmulator } from '#emulator/start-emulator.ts';

/**
 * An emulator on free ports of the loopback interface that ends with the test; profile `sleeper`
 * unless told otherwise.
 */
export async function emulatorForTest(options: Partial<EmulatorOptions> = {}): Promise<Emulator> {
  const emulator = await startEmulator({ profile: loadProfile('sleeper'), ...options });
  onTestFinished(() => emulator.close());
  return emulator;
}

/**
 * A profile with one model `m` on a CPU: FP32 [4] in and out, `a + b × batch` ms, quick loads;
 * fields can be replaced.
 */
export function smallProfile(
  change: { config?: object; model?: object; profile?: object; law?: object; a?: number; b?: number } = {},
): EmulatorProfile {
  const { a = 1, b = 0.1 } = change;
  return emulatorSchema.parse({
    name: 'small',
    description: 'for tests',
    source: 'synthetic',
    device: { kind: 'cpu', name: 'CPU', memory_mib: 1000 },
    models: [
      {
        config: {
          name: 'm',
          backend: 'python',
          max_batch_size: 8,
          input: [{ name: 'IN', data_type: 'TYPE_FP32', dims: [4] }],
          output: [{ name: 'OUT', data_type: 'TYPE_FP32', dims: [4] }],
          instance_group: [{ count: 1, kind: 'KIND_CPU' }],
          ...change.config,
        },
        law: {
          execution_ms: [
            [1, a + b],
            [2, a + 2 * b],
          ],
          ...change.law,
        },
        load: { full_s: 0.02, add_s: 0.01, remove_s: 0.01 },
        ...change.model,
      },
    ],
    ...change.profile,
  });
}

const TENSORS = {
  input: [{ name: 'IN', data_type: 'TYPE_FP32', dims: [4] }],
  output: [{ name: 'OUT', data_type: 'TYPE_FP32', dims: [4] }],
};

/**
 * A profile with a model of every kind: `m` with a dynamic batcher, `seq` with a sequence batcher
 * of two slots, `stream` that is decoupled with three responses to a request, and the ensemble
 * `chain` of `m` and `second`.
 */
export function everyKindProfile(change: { sequence_batching?: object; instances?: number } = {}): EmulatorProfile {
  const { sequence_batching = { direct: {}, max_sequence_idle_microseconds: 60_000_000 }, instances = 1 } = change;
  const model = (name: string, config: object, more: object = {}) => ({
    config: {
      name,
      backend: 'python',
      max_batch_size: 8,
      ...TENSORS,
      instance_group: [{ count: instances, kind: 'KIND_CPU' }],
      ...config,
    },
    law: {
      execution_ms: [
        [1, 1],
        [8, 2],
      ],
    },
    load: { full_s: 0.02, add_s: 0.01, remove_s: 0.01 },
    ...more,
  });
  const step = (model_name: string, input: string, output: string) => ({
    model_name,
    model_version: -1,
    input_map: { IN: input },
    output_map: { OUT: output },
  });
  return emulatorSchema.parse({
    name: 'every-kind',
    description: 'for tests',
    source: 'synthetic',
    device: { kind: 'cpu', name: 'CPU', memory_mib: 1000 },
    models: [
      model('m', { dynamic_batching: {} }),
      model('second', {}),
      model('seq', { max_batch_size: 2, sequence_batching }),
      model('stream', { max_batch_size: 0, model_transaction_policy: { decoupled: true } }, { responses: 3 }),
    ],
    ensembles: [
      {
        config: {
          name: 'chain',
          platform: 'ensemble',
          max_batch_size: 8,
          ...TENSORS,
          ensemble_scheduling: { step: [step('m', 'IN', 'between'), step('second', 'between', 'OUT')] },
        },
      },
    ],
  });
}

/** Parts of the language model that are replaced. */
interface LanguageChange {
  readonly step?: object;
  readonly engine?: object;
  readonly language?: object;
  readonly model?: object;
  readonly config?: object;
}

/**
 * A profile with the language model `talk` on a GPU of 1000 MiB; parts of its `language` can be
 * replaced.
 */
export const languageProfile = (change: LanguageChange = {}): EmulatorProfile =>
  emulatorSchema.parse(languageProfileFile(change));

/** That profile as a file has it. */
export function languageProfileFile(change: LanguageChange = {}) {
  return {
    name: 'language',
    description: 'for tests',
    source: 'synthetic',
    device: { kind: 'gpu', name: 'GPU', memory_mib: 1000, power_w: { idle: 1, busy: 2 } },
    models: [
      {
        config: {
          name: 'talk',
          backend: 'vllm',
          model_transaction_policy: { decoupled: true },
          input: [
            { name: 'text_input', data_type: 'TYPE_STRING', dims: [1] },
            { name: 'stream', data_type: 'TYPE_BOOL', dims: [1], optional: true },
            { name: 'sampling_parameters', data_type: 'TYPE_STRING', dims: [1], optional: true },
          ],
          output: [{ name: 'text_output', data_type: 'TYPE_STRING', dims: [-1] }],
          instance_group: [{ count: 1, kind: 'KIND_MODEL' }],
          ...change.config,
        },
        language: {
          step: { floor_ms: 4, per_prefill_token_us: 50, per_sequence_us: 100, ...change.step },
          memory: { model_mib: 100, kv_bytes_per_token: 1024 },
          engine: { max_num_seqs: 8, max_model_len: 2048, ...change.engine },
          ...change.language,
        },
        load: { full_s: 0.02, add_s: 0.01, remove_s: 0.01 },
        ...change.model,
      },
    ],
  };
}

/** Models of these names, alike; the server fails the second load of `flaky`, and no other. */
export function seriesProfile(...names: string[]): EmulatorProfile {
  const faults = { load: [{ what: 'refuse', after_loads: 1, times: 1, message: 'not today' }] };
  const [model] = smallProfile().models;
  const models = names.map((name) => ({
    ...model,
    config: { ...model?.config, name },
    ...(name === 'flaky' && { faults }),
  }));
  return emulatorSchema.parse({ ...smallProfile(), name: 'series', models });
}
