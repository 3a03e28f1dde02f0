import { describe, expect, it } from 'vitest';
import { isTrituneError } from '#base/errors.ts';
import { normaliseConfig } from '#triton/config/normal-form.ts';

/** A reply of GET /v2/models/M/config in shape: every field is there, whether set or not. */
const verbose = {
  name: 'm',
  platform: '',
  backend: 'onnxruntime',
  version_policy: { latest: { num_versions: 1 } },
  max_batch_size: 8,
  input: [
    {
      name: 'x',
      data_type: 'TYPE_FP32',
      format: 'FORMAT_NONE',
      dims: ['3', -1],
      is_shape_tensor: false,
      allow_ragged_batch: false,
      optional: false,
    },
  ],
  output: [{ name: 'y', data_type: 11, dims: [], label_filename: '' }],
  batch_input: [],
  optimization: { priority: 'PRIORITY_DEFAULT', input_pinned_memory: { enable: true }, eager_batching: false },
  dynamic_batching: { preferred_batch_size: [8], max_queue_delay_microseconds: '0', preserve_ordering: false },
  instance_group: [{ name: 'm', kind: 'kind_cpu', count: 1, gpus: [], passive: false }],
  cc_model_filenames: {},
  parameters: { threads: { string_value: '' }, empty: {} },
  model_warmup: [],
};

const normal = {
  name: 'm',
  version_policy: { latest: { num_versions: 1 } },
  max_batch_size: 8,
  input: [{ name: 'x', data_type: 'TYPE_FP32', dims: [3, -1] }],
  output: [{ name: 'y', data_type: 'TYPE_FP32', dims: [] }],
  instance_group: [{ name: 'm', kind: 'KIND_CPU', count: 1 }],
  dynamic_batching: { preferred_batch_size: [8] },
  optimization: { input_pinned_memory: { enable: true } },
  parameters: { threads: {}, empty: {} },
  backend: 'onnxruntime',
};

describe('normaliseConfig', () => {
  it('gives one form to what the two protocols spell differently', () => {
    expect(normaliseConfig(verbose)).toEqual(normal);
    expect(normaliseConfig(normal)).toEqual(normal);
    expect(normaliseConfig({ maxBatchSize: '8', instanceGroup: [{ kind: 1 }] })).toEqual({
      max_batch_size: 8,
      instance_group: [{ kind: 'KIND_GPU' }],
    });
  });

  it('keeps what is present though empty, and members of a oneof at their default', () => {
    const config = {
      dynamic_batching: {},
      version_policy: { all: {} },
      input: [{ name: 'x', data_type: 'TYPE_INT8', dims: [1], reshape: {} }],
      model_warmup: [{ inputs: { x: { zero_data: false } } }],
    };
    expect(normaliseConfig(config)).toEqual(config);
  });

  it.each([Infinity, -Infinity, 1.5, 2 ** 31])('refuses the enum %d, which no protobuf has', (data_type) => {
    expect(() => normaliseConfig({ output: [{ name: 'O', data_type, dims: [1] }] })).toThrow(
      expect.objectContaining({ code: 'CONFIG_INVALID', message: expect.stringContaining('output[0].data_type') }),
    );
  });

  it('carries fields that it does not know', () => {
    const config = { future: { a: [1, null] }, instance_group: [{ count: 2, cores: 'x' }] };
    expect(normaliseConfig(config)).toEqual(config);
  });

  it('gives a float the same number from either protocol', () => {
    const slots = (value: unknown) => ({ sequence_batching: { direct: { minimum_slot_utilization: value } } });
    expect(normaliseConfig(slots(Math.fround(0.1)))).toEqual(slots(0.1));
    expect(normaliseConfig(slots(Math.fround(1 / 3)))).toEqual(normaliseConfig(slots(1 / 3)));
    expect(normaliseConfig(slots('NaN'))).toEqual(slots('NaN'));
    expect(normaliseConfig(slots(-Infinity))).toEqual(slots('-Infinity'));
  });

  it('keeps a map key named __proto__ a key', () => {
    const config = normaliseConfig(JSON.parse('{"parameters":{"__proto__":{"string_value":"v"}},"__proto__":{"a":1}}'));
    expect(JSON.stringify(config)).toBe('{"parameters":{"__proto__":{"string_value":"v"}},"__proto__":{"a":1}}');
    expect(({} as Record<string, unknown>).a).toBeUndefined();
  });

  it.each([
    [{ max_batch_size: 'abc' }, 'max_batch_size'],
    [{ max_batch_size: 2 ** 31 }, 'max_batch_size'],
    [{ max_batch_size: 1.5 }, 'max_batch_size'],
    [{ max_batch_size: 1, maxBatchSize: 2 }, 'max_batch_size'],
    [{ instance_group: {} }, 'instance_group'],
    [{ instance_group: [{ gpus: [0, 'x'] }] }, 'instance_group[0].gpus[1]'],
    [{ dynamic_batching: true }, 'dynamic_batching'],
    [{ dynamic_batching: { max_queue_delay_microseconds: '18446744073709551616' } }, 'max_queue_delay_microseconds'],
    [{ dynamic_batching: { max_queue_delay_microseconds: -1 } }, 'max_queue_delay_microseconds'],
    [{ parameters: { k: { string_value: 4 } } }, 'parameters["k"].string_value'],
    [[], 'the whole'],
    [null, 'the whole'],
  ])('refuses %j and names the field', (config, path) => {
    let caught: unknown;
    try {
      normaliseConfig(config);
    } catch (error) {
      caught = error;
    }
    expect(isTrituneError(caught, 'CONFIG_INVALID')).toBe(true);
    expect(String(caught)).toContain(path);
  });
});
