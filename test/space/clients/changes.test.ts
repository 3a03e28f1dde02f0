import { describe, expect, it } from 'vitest';
import { clientChanges } from '#space/client-changes.ts';
import { jointOriginal } from '#space/joint/joint-space.ts';
import { toCandidate, toOriginal } from '#space/model-configs.ts';
import type { ModelConfig } from '#triton/config/model-config.ts';

const tensor = (name: string, data_type = 'TYPE_FP32', dims: number[] = [4]) => ({ name, data_type, dims });
const base: ModelConfig = {
  name: 'm',
  backend: 'python',
  max_batch_size: 64,
  input: [tensor('X')],
  output: [tensor('Y'), tensor('Z')],
  dynamic_batching: { priority_levels: 2, default_priority_level: 1 },
};

const changes = (after: ModelConfig, before: ModelConfig = base) =>
  clientChanges(toOriginal(before), toCandidate(after)).map(({ what, breaks, text }) => [what, breaks, text]);

describe('what clients notice', () => {
  it('is a type of a newer server, by its number or name', () => {
    const newer = (data_type: string | number): ModelConfig => ({
      ...base,
      output: [{ ...tensor('Y'), data_type }, tensor('Z')],
      instance_group: [{ kind: typeof data_type === 'number' ? 999 : 'KIND_NEW' }],
    });
    expect(toOriginal(newer(999)).shape.groups).toMatchObject([{ device: 'auto' }]);
    expect(toOriginal(newer('TYPE_NEW')).shape.groups).toMatchObject([{ device: 'auto' }]);
    expect(changes(newer(999))).toEqual([['output Y', true, "output 'Y' is 999 [4] (FP32 [4] before)"]]);
    expect(changes(newer('TYPE_NEW'), newer(999)).map(([, , text]) => text)).toEqual([
      "output 'Y' is NEW [4] (999 [4] before)",
    ]);
  });

  it('is the wait for an engine that the first requests have built', () => {
    const trt = (parameters: Record<string, string> = {}): ModelConfig => ({
      ...base,
      backend: 'onnxruntime',
      optimization: { execution_accelerators: { gpu_execution_accelerator: [{ name: 'tensorrt', parameters }] } },
    });
    const plain = { ...base, backend: 'onnxruntime' };
    expect(changes(trt(), plain)).toEqual([
      [
        'optimization.execution_accelerators',
        false,
        expect.stringMatching(
          /^the first requests after a load wait .* --warm-up each .* trt_engine_cache_enable keeps it\)$/,
        ),
      ],
    ]);
    expect(changes({ ...trt(), backend: 'tensorflow' }, plain)[0]?.[2]).not.toContain('trt_engine_cache_enable');
    expect(changes(trt(), trt({ precision_mode: 'FP16' }))).toEqual([]);
    expect(changes(trt({ trt_engine_cache_enable: '1' }), plain)).toEqual([]);
    expect(changes({ ...trt(), model_warmup: [{ name: 'w', batch_size: 1 }] }, plain)).toEqual([]);
  });

  it('is nothing of instances, batching and larger batches', () => {
    expect(
      changes({
        ...base,
        max_batch_size: 128,
        instance_group: [{ count: 4, kind: 'KIND_CPU' }],
        dynamic_batching: { ...base.dynamic_batching, max_queue_delay_microseconds: 500, preferred_batch_size: [64] },
      }),
    ).toEqual([]);
  });

  it('is a smaller batch, with the size that is left', () => {
    expect(changes({ ...base, max_batch_size: 2 })).toEqual([
      ['max_batch_size', true, 'clients may send 2 samples in a request at most (64 before)'],
    ]);
    expect(changes({ ...base, max_batch_size: 1 })[0]?.[2]).toContain('1 sample in');
    expect(changes({ ...base, max_batch_size: 0 })[0]?.[2]).toBe(
      'requests have no batch dimension any more (64 samples before)',
    );
  });

  it.each<[string, ModelConfig, string, boolean]>([
    ['an output that is gone', { output: [tensor('Y')] }, "output 'Z' is gone", true],
    ['another type', { output: [tensor('Y', 'TYPE_FP16'), tensor('Z')] }, "'Y' is FP16 [4] (FP32 [4] before)", true],
    ['another shape', { input: [tensor('X', 'TYPE_FP32', [8])] }, "input 'X' is FP32 [8] (FP32 [4] before)", true],
    ['a new input', { input: [tensor('X'), tensor('W')] }, "input 'W' is new", true],
    ['a new input that is optional', { input: [tensor('X'), { ...tensor('W'), optional: true }] }, "'W' is new", false],
    ['a new output', { output: [...(base.output ?? []), tensor('P')] }, "output 'P' is new", false],
    ['streams of replies', { model_transaction_policy: { decoupled: true } }, 'any number of replies', true],
    ['cached replies', { response_cache: { enable: true } }, 'equal requests may get a cached reply', false],
    ['other versions', { version_policy: { specific: { versions: [2] } } }, 'other versions are served', true],
    ['sequences', { sequence_batching: { direct: {} } }, 'requests must belong to sequences', true],
  ])('is %s', (_, more, words, breaks) => {
    const found = changes({ ...base, ...more });
    expect(found).toContainEqual([expect.anything(), breaks, expect.stringContaining(words)]);
  });

  it.each<[string, ModelConfig['dynamic_batching'], string, boolean]>([
    ['no batcher', undefined, 'priority levels are none (2 before)', true],
    [
      'a queue that ends',
      { ...base.dynamic_batching, default_queue_policy: { max_queue_size: 8 } },
      'longest queue, in requests, is 8 (none before)',
      true,
    ],
    [
      'a timeout',
      { ...base.dynamic_batching, default_queue_policy: { default_timeout_microseconds: 100 } },
      'timeout in the queue, in µs, is 100 (none before)',
      true,
    ],
    [
      'their own timeouts',
      { ...base.dynamic_batching, default_queue_policy: { allow_timeout_override: true } },
      'requests may set their own timeout',
      true,
    ],
    ['an order', { ...base.dynamic_batching, preserve_ordering: true }, 'in the order of requests', false],
  ])('is of the queue %s', (_, batching, words, breaks) => {
    const { dynamic_batching: _own, ...rest } = base;
    const found = changes({ ...rest, ...(batching && { dynamic_batching: batching }) });
    expect(found).toContainEqual([expect.anything(), breaks, expect.stringContaining(words)]);
  });

  it('is a shorter pause and fewer sequences, not longer and more', () => {
    const sequences = (idle: number, most: number): ModelConfig => ({
      name: 'm',
      max_batch_size: 4,
      sequence_batching: { max_sequence_idle_microseconds: idle, oldest: { max_candidate_sequences: most } },
    });
    expect(changes(sequences(10, 2), sequences(20, 8)).map(([, breaks]) => breaks)).toEqual([true, true]);
    expect(changes(sequences(40, 16), sequences(20, 8)).map(([, breaks]) => breaks)).toEqual([false, false]);
  });

  it('is of each model, and of the ensembles that had to follow', () => {
    const ensemble: ModelConfig = { name: 'e', platform: 'ensemble', max_batch_size: 64 };
    const original = jointOriginal({ m: base }, { e: ensemble }, 'e');
    const value = { models: { m: { ...base, max_batch_size: 2 }, e: { ...ensemble, max_batch_size: 2 } } };
    expect(clientChanges(original, { value }).map(({ model, before, after }) => [model, before, after])).toEqual([
      ['m', 64, 2],
      ['e', 64, 2],
    ]);
  });

  it('is the name of a variant that is another model', () => {
    expect(changes({ ...base, name: 'm_fp16' })).toEqual([
      ['name', true, "clients must ask for model 'm_fp16' instead of 'm'"],
    ]);
  });
});
