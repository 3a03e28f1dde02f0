import { describe, expect, it } from 'vitest';
import { toSettingsKey } from '#perfmodel/settings-key.ts';
import { buildCandidate } from '#space/candidate.ts';
import { toModelConfig, toOriginal } from '#space/model-configs.ts';
import { spaceFromJson } from '#space/source/load.ts';
import type { ModelConfig } from '#triton/config/model-config.ts';

const base: ModelConfig = {
  name: 'm',
  backend: 'onnxruntime',
  max_batch_size: 8,
  input: [{ name: 'X', data_type: 'TYPE_FP32', dims: [1] }],
  output: [{ name: 'Y', data_type: 'TYPE_FP32', dims: [1] }],
  instance_group: [{ name: 'g', kind: 'KIND_GPU', count: 1, gpus: [0, 1, 2, 3] }],
};
const build = (parameters: object, assignment: object) => {
  const outcome = buildCandidate(
    spaceFromJson({ name: 's', parameters } as never),
    toOriginal(base),
    assignment as never,
  );
  if (!outcome.legal) throw new Error(outcome.reason);
  return outcome.candidate;
};
const groupsOf = (parameters: object, assignment: object) =>
  toModelConfig(build(parameters, assignment)).instance_group?.map(({ kind, count, gpus }) => ({ kind, count, gpus }));

describe('a space over GPUs', () => {
  it('has how many hold instances as a parameter, the count being that on each', () => {
    const parameters = { gpu_count: [1, 2, 4], instances: [1, 2] };
    expect(groupsOf(parameters, { gpu_count: 2, instances: 2 })).toEqual([
      { kind: 'KIND_GPU', count: 2, gpus: [0, 1] },
    ]);
    const { policy } = build(parameters, { gpu_count: 2, instances: 2 }).shape;
    expect(policy).toMatchObject({ instances: 4, devices: 2 });
  });

  it('has placements of any kind, GPUs with as many instances in one group', () => {
    const placements = [
      { 0: 2, 1: 2, 3: 1 },
      { 0: 1, cpu: 2 },
    ];
    expect(groupsOf({ placement: placements }, { placement: placements[0] })).toEqual([
      { kind: 'KIND_GPU', count: 2, gpus: [0, 1] },
      { kind: 'KIND_GPU', count: 1, gpus: [3] },
    ]);
    expect(groupsOf({ placement: placements }, { placement: placements[1] })).toEqual([
      { kind: 'KIND_GPU', count: 1, gpus: [0] },
      { kind: 'KIND_CPU', count: 2, gpus: undefined },
    ]);
  });

  it('takes GPUs for alike: which of them has the instances changes no execution time', () => {
    const key = (gpus: readonly number[]) => toSettingsKey(build({ gpus: [[0], [3], [0, 3]] }, { gpus }).shape);
    expect(key([0])).toBe(key([3]));
    expect(key([0])).toBe(key([0, 3]));
  });

  it.each([
    [{ gpu_count: [0] }, /whole numbers of 1 or more/],
    [{ placement: [3] }, /instances by GPU/],
    [{ placement: [{ gpu0: 1 }] }, /by their numbers/],
    [{ placement: [{ 0: 0 }] }, /1 instance or more/],
    [{ placement: [{ 0: 1 }], instances: [1, 2] }, /drop 'instances'/],
    [{ gpu_count: [1], gpus: [[0]] }, /same field/],
  ])('refuses %j', (parameters, message) => {
    expect(() => spaceFromJson({ name: 's', parameters } as never)).toThrowError(message);
  });
});
