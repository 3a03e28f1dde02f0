import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { acceleratorNames, batchingNames, type ConfigEdits, editConfig } from '#space/edits/edit-config.ts';
import { compareConfigs } from '#triton/config/comparison.ts';
import type { ModelConfig } from '#triton/config/model-config.ts';
import { parseConfigText } from '#triton/config/parser.ts';
import { printConfigText } from '#triton/config/printer.ts';
import { validateConfig } from '#triton/config/validation.ts';

const base: ModelConfig = {
  name: 'm',
  backend: 'onnxruntime',
  max_batch_size: 8,
  input: [{ name: 'IN', data_type: 'TYPE_FP32', dims: [4] }],
  output: [{ name: 'OUT', data_type: 'TYPE_FP32', dims: [4] }],
  instance_group: [{ kind: 'KIND_GPU', gpus: [0], count: 1, host_policy: 'near' }],
  dynamic_batching: { preferred_batch_size: [4, 8], preserve_ordering: true },
  optimization: {
    graph: { level: 1 },
    execution_accelerators: {
      gpu_execution_accelerator: [{ name: 'tensorrt', parameters: { max_workspace_size_bytes: '10' } }],
    },
  },
  parameters: { intra_op_thread_count: { string_value: '2' } },
};
const edited = (edits: ConfigEdits, from = base): ModelConfig => editConfig(from, edits);
const refusal = (edits: ConfigEdits, from = base): unknown => {
  try {
    return edited(edits, from);
  } catch (error) {
    return (error as { code?: string; message: string }).code;
  }
};

describe('editing a config', () => {
  it('changes nothing where nothing is wanted', () => {
    expect(edited({})).toEqual(base);
  });

  it('adds a warm-up of the largest batch that the config then has, and says what it lacks for one', () => {
    const sizes = ({ model_warmup: samples }: ModelConfig): unknown =>
      (samples as unknown as readonly { readonly batch_size: number }[]).map(({ batch_size: size }) => size);
    expect(sizes(edited({ warmUp: 'max', maxBatchSize: 16 }))).toEqual([16]);
    expect(sizes(edited({ warmUp: 'each' }))).toEqual([1, 2, 4, 8]);
    const open = { ...base, input: [{ name: 'IN', data_type: 'TYPE_FP32', dims: [-1] }] };
    expect(refusal({ warmUp: 'max' }, open)).toBe('USAGE');
  });

  it('writes each option to its field and keeps what lies beside it', () => {
    expect(edited({ tensorrtPrecision: 'FP16', cudaGraphs: true }).optimization).toEqual({
      graph: { level: 1 },
      cuda: { graphs: true },
      execution_accelerators: {
        gpu_execution_accelerator: [
          { name: 'tensorrt', parameters: { max_workspace_size_bytes: '10', precision_mode: 'FP16' } },
        ],
      },
    });
    expect(edited({ queueDelayUs: 500 }).dynamic_batching).toEqual({
      ...base.dynamic_batching,
      max_queue_delay_microseconds: 500,
    });
    expect(edited({ accelerator: 'none' }).optimization).toEqual({ graph: { level: 1 } });
    expect(edited({ accelerator: 'openvino' }).optimization?.execution_accelerators).toMatchObject({
      gpu_execution_accelerator: [{ name: 'tensorrt' }],
      cpu_execution_accelerator: [{ name: 'openvino' }],
    });
    expect(edited({ accelerator: 'amp' }).optimization?.execution_accelerators).toEqual({
      gpu_execution_accelerator: [{ name: 'auto_mixed_precision' }],
    });
  });

  it('takes out preferred sizes above a new largest batch', () => {
    expect(edited({ maxBatchSize: 4 }).dynamic_batching?.preferred_batch_size).toEqual([4]);
  });

  it('switches batching', () => {
    expect(edited({ batching: 'static' }).dynamic_batching).toBeUndefined();
    expect(edited({ batching: 'disabled' })).toMatchObject({ max_batch_size: 0 });
    expect(edited({ batching: 'dynamic' })).toEqual(base);
    const { dynamic_batching: _, ...still } = base;
    expect(edited({ preferredBatchSizes: [2] }, still).dynamic_batching).toEqual({ preferred_batch_size: [2] });
  });

  it('takes instances by device in place of those that were there, which keep their other fields', () => {
    const instances = [
      { kind: 'KIND_GPU', gpu: 0, count: 3 },
      { kind: 'KIND_GPU', gpu: 1, count: 1 },
      { kind: 'KIND_CPU', gpu: null, count: 4 },
    ] as const;
    expect(edited({ instances }).instance_group).toEqual([
      { kind: 'KIND_GPU', gpus: [0], count: 3, host_policy: 'near' },
      { kind: 'KIND_GPU', gpus: [1], count: 1 },
      { kind: 'KIND_CPU', count: 4 },
    ]);
  });

  it.each<[string, ConfigEdits]>([
    ['a delay without dynamic batching', { batching: 'static', queueDelayUs: 1 }],
    ['preferred sizes without batching', { batching: 'disabled', preferredBatchSizes: [1] }],
    ['a largest batch without batching', { batching: 'disabled', maxBatchSize: 2 }],
    ['a precision without the accelerator', { accelerator: 'none', tensorrtPrecision: 'FP16' }],
    ['a device twice', { instances: [1, 2].map((count) => ({ kind: 'KIND_CPU', gpu: null, count })) }],
    ['every GPU and one', { instances: [null, 0].map((gpu) => ({ kind: 'KIND_GPU', gpu, count: 1 })) }],
  ])('refuses %s', (_, edits) => {
    expect(refusal(edits)).toBe('USAGE');
  });

  it('asks for a batch dimension before it batches', () => {
    const single = { ...base, max_batch_size: 0, dynamic_batching: undefined } as unknown as ModelConfig;
    expect(refusal({ batching: 'dynamic' }, single)).toBe('USAGE');
    expect(edited({ batching: 'dynamic', maxBatchSize: 4 }, single)).toMatchObject({ max_batch_size: 4 });
  });

  it('gives what prints and reads back, and touches only the fields of its options', () => {
    const some = <T>(values: readonly T[]) => fc.option(fc.constantFrom(...values), { nil: undefined });
    const edits = fc.record({
      accelerator: some(acceleratorNames),
      tensorrtPrecision: some(['FP16']),
      cudaGraphs: some([true, false]),
      maxBatchSize: some([1, 4, 16]),
      batching: some(batchingNames),
      preferredBatchSizes: some([[1], [1, 4]]),
      queueDelayUs: some([0, 100]),
    });
    const touched = /^(max_batch_size|dynamic_batching|optimization\.(cuda|execution_accelerators))/;
    fc.assert(
      fc.property(edits, (wanted) => {
        const config = (() => {
          try {
            return edited(wanted as ConfigEdits);
          } catch {
            return base;
          }
        })();
        const read = parseConfigText(printConfigText(config), 'config.pbtxt').config;
        expect(compareConfigs(config, read)).toEqual([]);
        expect(compareConfigs(base, config).filter(({ path }) => !touched.test(path))).toEqual([]);
        if (wanted.maxBatchSize !== 1) expect(validateConfig(config)).toEqual([]);
      }),
      { numRuns: 200 },
    );
  });
});
