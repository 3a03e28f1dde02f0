import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import type { JsonObject } from '#base/json.ts';
import type { ModelConfig } from '#triton/config/model-config.ts';
import { parseConfigText } from '#triton/config/parser.ts';
import { validateConfig } from '#triton/config/validation.ts';

const folder = join(import.meta.dirname, '../fixtures/configs');
const x = { name: 'x', data_type: 'TYPE_FP32', dims: [4] };
const y = { name: 'y', data_type: 'TYPE_FP32', dims: [4] };
const sound: ModelConfig = { name: 'm', backend: 'python', max_batch_size: 8, input: [x], output: [y] };
const pathsOf = (config: JsonObject): readonly string[] =>
  validateConfig({ ...sound, ...config } as ModelConfig).map((fault) => fault.path);
const ensemble = (step: readonly JsonObject[], rest: JsonObject = {}): JsonObject => ({
  backend: undefined,
  platform: 'ensemble',
  ensemble_scheduling: { step },
  ...rest,
});
const control = (...controls: JsonObject[]): JsonObject => ({
  sequence_batching: { control_input: controls.map((one, i) => ({ name: `C${i}`, control: [one] })) },
});

describe('validateConfig', () => {
  // Of the test set only the file of spellings is no sound config: one of its tensors has a format
  // for three dimensions.
  it.each(readdirSync(folder).filter((name) => name !== 'spellings.pbtxt'))('finds no fault with %s', (name) => {
    expect(validateConfig(parseConfigText(readFileSync(join(folder, name), 'utf8'), name).config)).toEqual([]);
  });

  it.each<[string, JsonObject, readonly string[]]>([
    ['a value of the wrong type', { max_batch_size: 'abc' }, ['max_batch_size']],
    ['a negative batch size', { max_batch_size: -1 }, ['max_batch_size']],
    [
      'a warm-up above the most',
      { model_warmup: [{ batch_size: 8 }, { batch_size: 9 }] },
      ['model_warmup[1].batch_size'],
    ],
    ['an enum name that is none', { instance_group: [{ kind: 'KIND_TPU' }] }, ['instance_group[0].kind']],
    ['a type without TYPE_', { input: [{ ...x, data_type: 'FP32' }] }, ['input[0].data_type']],
    ['two schedulers', { dynamic_batching: {}, sequence_batching: {} }, ['sequence_batching']],
    ['a platform of another backend', { backend: 'pytorch', platform: 'onnxruntime_onnx' }, ['platform']],
    ['preferred above the most', preferred([4, 9]), ['dynamic_batching.preferred_batch_size[1]']],
    ['preferred 0', preferred([0]), ['dynamic_batching.preferred_batch_size[0]']],
    [
      'preferred without batches',
      { ...preferred([1]), max_batch_size: 0 },
      ['dynamic_batching.preferred_batch_size[0]'],
    ],
    ['levels without a default', batching({ priority_levels: 2 }), ['dynamic_batching.default_priority_level']],
    [
      'a policy for no level',
      batching({ priority_levels: 2, default_priority_level: 2, priority_queue_policy: { 3: {} } }),
      ['dynamic_batching.priority_queue_policy["3"]'],
    ],
    [
      'order kept over levels and delays',
      batching({
        preserve_ordering: true,
        priority_levels: 2,
        default_priority_level: 1,
        default_queue_policy: { timeout_action: 'DELAY', default_timeout_microseconds: 1 },
      }),
      ['dynamic_batching.priority_levels', 'dynamic_batching.default_queue_policy'],
    ],
    [
      'sequence sizes above the most',
      { sequence_batching: { oldest: { preferred_batch_size: [9] } } },
      ['sequence_batching.oldest.preferred_batch_size[0]'],
    ],
    [
      'more slots than all',
      { sequence_batching: { direct: { minimum_slot_utilization: 1.1 } } },
      ['sequence_batching.direct.minimum_slot_utilization'],
    ],
    ['a control without values', control({}), ['sequence_batching.control_input[0].control[0]']],
    ['half a pair', control({ int32_false_true: [1] }), ['sequence_batching.control_input[0].control[0]']],
    [
      'a control given twice',
      control({ int32_false_true: [0, 1] }, { fp32_false_true: [0, 1] }),
      ['sequence_batching.control_input[1].control[0].kind'],
    ],
    [
      'a correlation id without a type',
      control({ kind: 'CONTROL_SEQUENCE_CORRID' }),
      ['sequence_batching.control_input[0].control[0].data_type'],
    ],
    ['a cache beside sequences', { response_cache: { enable: true }, sequence_batching: {} }, ['response_cache']],
    [
      'a cache for a decoupled model',
      { response_cache: { enable: true }, model_transaction_policy: { decoupled: true } },
      ['response_cache'],
    ],
    ['GPUs for CPUs', { instance_group: [{ kind: 'KIND_CPU', gpus: [0] }] }, ['instance_group[0].gpus']],
    ['a negative count', { instance_group: [{ count: 1 }, { count: -1 }] }, ['instance_group[1].count']],
    ['a profile elsewhere', { instance_group: [{ profile: ['0'] }] }, ['instance_group[0].profile']],
    [
      'a profile that is no number',
      { backend: 'tensorrt', instance_group: [{ kind: 'KIND_GPU', profile: ['-1'] }] },
      ['instance_group[0].profile[0]'],
    ],
    [
      'a resource both global and not',
      {
        instance_group: [
          { rate_limiter: { resources: [{ name: 'R', global: true }] } },
          { rate_limiter: { resources: [{ name: 'R' }] } },
        ],
      },
      ['instance_group[1].rate_limiter.resources[0].global'],
    ],
    [
      'a graph above the most',
      { optimization: { cuda: { graph_spec: [{ batch_size: 9, graph_lower_bound: {} }] } } },
      ['optimization.cuda.graph_spec[0].batch_size', 'optimization.cuda.graph_spec[0].graph_lower_bound.batch_size'],
    ],
    [
      'a metric without name and buckets',
      { model_metrics: { metric_control: [{}] } },
      [
        'model_metrics.metric_control[0].metric_identifier.family',
        'model_metrics.metric_control[0].histogram_options.buckets',
      ],
    ],
    ['a tensor without anything', { input: [{}] }, ['input[0].name', 'input[0].data_type', 'input[0].dims']],
    ['an empty dimension', { input: [{ ...x, dims: [3, 0] }] }, ['input[0].dims[1]']],
    ['an image of two dimensions', { input: [{ ...x, dims: [3, 3], format: 'FORMAT_NHWC' }] }, ['input[0].dims']],
    ['a reshape to fewer', { input: [{ ...x, reshape: { shape: [3] } }] }, ['input[0].reshape.shape']],
    [
      'a reshape across a variable dimension',
      { input: [{ ...x, dims: [2, -1, 6], reshape: { shape: [3, -1, 4] } }] },
      ['input[0].reshape.shape'],
    ],
    [
      'a reshape to nothing',
      { max_batch_size: 0, input: [{ ...x, dims: [1], reshape: {} }] },
      ['input[0].reshape.shape'],
    ],
    ['a shape tensor elsewhere', { output: [{ ...y, is_shape_tensor: true }] }, ['output[0].is_shape_tensor']],
    [
      'a batch tensor of nothing',
      { batch_input: [{ data_type: 'TYPE_INT8', source_input: ['z'] }] },
      ['batch_input[0].source_input', 'batch_input[0].data_type'],
    ],
    [
      'a batch output to nothing',
      { batch_output: [{ target_name: ['z'], source_input: ['x'] }] },
      ['batch_output[0].target_name'],
    ],
    ['an ensemble without steps', ensemble([]), ['ensemble_scheduling.step', 'input', 'output']],
    ['an ensemble with instances', ensemble([step('x', 'y')], { instance_group: [{ count: 1 }] }), ['instance_group']],
    ['steps on another platform', ensemble([step('x', 'y')], { platform: 'tensorrt_plan' }), ['platform']],
    ['the platform without steps', { backend: undefined, platform: 'ensemble' }, ['ensemble_scheduling']],
    [
      'a step that waits for itself',
      ensemble([step('x', 'y'), step('loop', 'loop')]),
      ['ensemble_scheduling.step[1].input_map'],
    ],
    ['a tensor written twice', ensemble([step('x', 'y'), step('x', 'y')]), ['ensemble_scheduling.step[1].output_map']],
    ['a tensor for nobody', ensemble([step('x', 'y'), step('x', 'z')]), ['ensemble_scheduling.step']],
    [
      'an output that no step writes',
      ensemble([step('x', 'x2'), step('x2', 'x3')]),
      ['output', 'ensemble_scheduling.step'],
    ],
  ])('names %s', (_, config, paths) => {
    expect(pathsOf(config)).toEqual(paths);
  });

  it('leaves alone what Triton accepts, wise or not', () => {
    expect(pathsOf({ max_batch_size: 0, dynamic_batching: {} })).toEqual([]);
    expect(pathsOf({ instance_group: [{ count: 0 }], future_field: { a: 1 } })).toEqual([]);
    expect(pathsOf({ input: [{ ...x, dims: [2, 4, -1, 6], reshape: { shape: [8, -1, 1, 6] } }] })).toEqual([]);
    expect(pathsOf({ input: [{ ...x, dims: [1], reshape: {} }] })).toEqual([]);
  });
});

function preferred(sizes: readonly number[]): JsonObject {
  return batching({ preferred_batch_size: sizes });
}

function batching(fields: JsonObject): JsonObject {
  return { dynamic_batching: fields };
}

function step(from: string, to: string): JsonObject {
  return { model_name: 'part', input_map: { IN: from }, output_map: { OUT: to } };
}
