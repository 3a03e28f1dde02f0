import { describe, expect, it } from 'vitest';
import { buildCandidate } from '#space/candidate.ts';
import { expectedTime } from '#space/expected-time.ts';
import { toOriginal } from '#space/model-configs.ts';
import { loadSpace, spaceFromJson } from '#space/source/load.ts';
import type { Assignment, SearchSpace } from '#space/types.ts';
import type { ModelConfig } from '#triton/config/model-config.ts';

const base: ModelConfig = {
  name: 'm',
  max_batch_size: 8,
  instance_group: [{ count: 1, kind: 'KIND_GPU' }],
  input: [{ name: 'I', data_type: 'TYPE_FP32', dims: [1] }],
  output: [{ name: 'O', data_type: 'TYPE_FP32', dims: [1] }],
  parameters: { precision: { string_value: 'fp16' } },
};
const space = spaceFromJson({
  name: 'test',
  parameters: {
    'parameters.precision': { values: ['fp32', 'fp16'], expects: { fp16: 0.5 } },
    cuda_graphs: { values: [false, true], expects: { true: 0.9 } },
    instances: [1, 2],
  },
});

describe('what a space expects of execution times', () => {
  const timeOf = (assignment: Assignment, of: SearchSpace = space, on = base): number => {
    const built = buildCandidate(of, toOriginal(on), assignment);
    if (!built.legal) throw new Error(built.reason);
    return expectedTime(of, toOriginal(on), built.candidate);
  };

  it('is the product over the values, and 1 for those that it does not name', () => {
    expect(timeOf({ 'parameters.precision': 'fp16', cuda_graphs: true, instances: 2 })).toBeCloseTo(0.45, 9);
    expect(timeOf({ 'parameters.precision': 'fp32', cuda_graphs: false })).toBe(1);
  });

  it("takes the base config's own value where none is set", () => {
    expect(timeOf({})).toBe(0.5);
    expect(timeOf({ instances: 2 })).toBe(0.5);
  });

  it('is stated in the presets: precision and threads', () => {
    const onnx = loadSpace('onnxruntime');
    const plain: ModelConfig = { ...base, backend: 'onnxruntime', parameters: {} };
    const fast = timeOf({ tensorrt_precision: 'FP16' }, onnx, plain);
    expect(fast).toBeLessThan(timeOf({ tensorrt_precision: 'FP32' }, onnx, plain));
    const onCpu: ModelConfig = { ...plain, instance_group: [{ count: 1, kind: 'KIND_CPU' }] };
    expect(timeOf({ threads: 4 }, onnx, onCpu)).toBeLessThan(timeOf({ threads: 1 }, onnx, onCpu));
  });
});
