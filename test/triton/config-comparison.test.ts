import { describe, expect, it } from 'vitest';
import { compareConfigs, onlyInstancesDiffer } from '#triton/config/comparison.ts';
import type { ModelConfig } from '#triton/config/model-config.ts';

const base: ModelConfig = {
  name: 'm',
  max_batch_size: 8,
  dynamic_batching: { preferred_batch_size: [4, 8] },
  instance_group: [{ count: 1, kind: 'KIND_CPU' }],
  parameters: { 'memory.arena': { string_value: '1' } },
};

describe('compareConfigs', () => {
  it('finds nothing between two spellings of one config', () => {
    const spelled = { ...base, maxBatchSize: '8', max_batch_size: undefined, backend: '', input: [] };
    expect(compareConfigs(base, spelled)).toEqual([]);
  });

  it('names each place with both values, whole lists of numbers together', () => {
    const edited: ModelConfig = {
      ...base,
      max_batch_size: 16,
      dynamic_batching: { preferred_batch_size: [4], max_queue_delay_microseconds: 100 },
      instance_group: [{ count: 2, kind: 'KIND_CPU' }, {}],
      parameters: { 'memory.arena': { string_value: '0' } },
    };
    expect(compareConfigs(base, edited)).toEqual([
      { path: 'dynamic_batching.max_queue_delay_microseconds', after: 100 },
      { path: 'dynamic_batching.preferred_batch_size', before: [4, 8], after: [4] },
      { path: 'instance_group[0].count', before: 1, after: 2 },
      { path: 'instance_group[1]', after: {} },
      { path: 'max_batch_size', before: 8, after: 16 },
      { path: 'parameters["memory.arena"].string_value', before: '1', after: '0' },
    ]);
  });

  it('tells an empty message from an absent one', () => {
    expect(compareConfigs({ dynamic_batching: {} }, {})).toEqual([{ path: 'dynamic_batching', before: {} }]);
  });
});

describe('onlyInstancesDiffer', () => {
  it('is true only where Triton loads in place', () => {
    expect(onlyInstancesDiffer(base, base)).toBe(true);
    expect(onlyInstancesDiffer(base, { ...base, instance_group: [{ count: 3, kind: 'KIND_GPU' }] })).toBe(true);
    expect(onlyInstancesDiffer({ ...base, instance_group: [] }, base)).toBe(true);
    expect(onlyInstancesDiffer(base, { ...base, max_batch_size: 4, instance_group: [{ count: 3 }] })).toBe(false);
    expect(onlyInstancesDiffer(base, { ...base, dynamic_batching: {} })).toBe(false);
  });
});
