import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { canonicalJson, type Json } from '#base/json.ts';
import { buildCandidate } from '#space/candidate.ts';
import { assignments } from '#space/enumerate.ts';
import { toModelConfig, toOriginal } from '#space/model-configs.ts';
import { loadSpace } from '#space/source/load.ts';
import type { Assignment, Candidate, SearchSpace } from '#space/types.ts';
import type { ModelConfig } from '#triton/config/model-config.ts';
import { cpuModel, faultOf, gpuModel, spaceOf } from './fixtures.ts';

function candidateOf(
  space: SearchSpace,
  base: ModelConfig,
  assignment: Assignment,
): Candidate & { config: ModelConfig } {
  const outcome = buildCandidate(space, toOriginal(base), assignment);
  if (!outcome.legal) throw new Error(outcome.reason);
  return { ...outcome.candidate, config: toModelConfig(outcome.candidate) };
}

const configOf = (text: string, base: ModelConfig, assignment: Assignment): ModelConfig =>
  candidateOf(spaceOf(text), base, assignment).config;

function reasonOf(space: SearchSpace, base: ModelConfig, assignment: Assignment): string {
  const outcome = buildCandidate(space, toOriginal(base), assignment);
  return outcome.legal ? 'legal' : outcome.reason;
}

describe('a candidate', () => {
  it('with the empty assignment is the base config, as little as the server fills it in', () => {
    const { config } = candidateOf(loadSpace('base'), cpuModel, {});
    expect(config).toEqual({
      ...cpuModel,
      instance_group: [{ count: 1, kind: 'KIND_CPU' }],
      dynamic_batching: {},
    });
  });

  it('is the same candidate whether the server has filled in its defaults or not', () => {
    const space = loadSpace('base');
    const written: ModelConfig = {
      ...cpuModel,
      instance_group: [{ count: 1, kind: 'KIND_CPU' }],
      dynamic_batching: { max_queue_delay_microseconds: 0, preserve_ordering: false },
    };
    const assignment = { instances: 1, max_batch_size: 8, dynamic_batching: true, queue_delay_us: 0 };
    const fingerprints = [
      candidateOf(space, cpuModel, {}),
      candidateOf(space, written, {}),
      candidateOf(space, cpuModel, assignment),
      candidateOf(space, cpuModel, { instances: 1 }),
    ].map(({ fingerprint }) => fingerprint);
    expect(new Set(fingerprints).size).toBe(1);
    expect(fingerprints[0]).toMatch(/^[0-9a-f]{12}$/);
  });

  it('has another fingerprint when its config differs', () => {
    const space = loadSpace('base');
    const prints = [...assignments(space, toOriginal(cpuModel))].map(
      (one) => candidateOf(space, cpuModel, one).fingerprint,
    );
    expect(new Set(prints).size).toBe(prints.length);
  });

  it('keeps the instance groups of the base config, and those like the first have its count', () => {
    const two: ModelConfig = {
      ...gpuModel,
      instance_group: [
        { name: 'mine', count: 2, kind: 'KIND_GPU', gpus: [0], host_policy: 'p' },
        { name: 'mlp_1', count: 1, kind: 'KIND_GPU', gpus: [1] },
      ],
    };
    const { config } = candidateOf(loadSpace('base'), two, { instances: 3 });
    expect(config.instance_group).toEqual([
      { name: 'mine', count: 3, kind: 'KIND_GPU', gpus: [0], host_policy: 'p' },
      { count: 1, kind: 'KIND_GPU', gpus: [1] },
    ]);
    const alike = { ...two, instance_group: [0, 1].map((gpu) => ({ count: 2, kind: 'KIND_GPU', gpus: [gpu] })) };
    expect(candidateOf(loadSpace('base'), alike, { instances: 3 }).config.instance_group).toEqual([
      { count: 3, kind: 'KIND_GPU', gpus: [0] },
      { count: 3, kind: 'KIND_GPU', gpus: [1] },
    ]);
    const moved = configOf('parameters: { instances: [3], instance_kind: [KIND_CPU] }', two, {
      instances: 3,
      instance_kind: 'KIND_CPU',
    });
    expect(moved.instance_group).toEqual([{ name: 'mine', count: 3, kind: 'KIND_CPU', host_policy: 'p' }]);
    const other = candidateOf(loadSpace('base'), two, { queue_delay_us: 100 }).config;
    expect(other.instance_group?.map(({ name }) => name)).toEqual(['mine', undefined]);
  });

  it('has as many groups as the space addresses', () => {
    const text = `parameters:
      first: { path: "instance_group[0].count", range: [1, 2] }
      second: { path: "instance_group[1].count", range: [1, 2] }
      second_kind: { path: "instance_group[1].kind", values: [KIND_CPU] }`;
    const config = configOf(text, gpuModel, { first: 1, second: 2, second_kind: 'KIND_CPU' });
    expect(config.instance_group).toEqual([
      { count: 1, kind: 'KIND_GPU', gpus: [0] },
      { count: 2, kind: 'KIND_CPU' },
    ]);
  });

  it('gives up the GPUs of the base config when instances move to the CPU', () => {
    const text = 'parameters: { instance_kind: [KIND_GPU, KIND_CPU], gpus: [[0], [0, 1]] }';
    const toCpu = configOf(text, gpuModel, { instance_kind: 'KIND_CPU' });
    expect(toCpu.instance_group).toEqual([{ count: 1, kind: 'KIND_CPU' }]);
    const onBoth = configOf(text, gpuModel, { instance_kind: 'KIND_GPU', gpus: [0, 1] });
    expect(onBoth.instance_group).toEqual([{ count: 1, kind: 'KIND_GPU', gpus: [0, 1] }]);
  });

  it('without dynamic batching has no such field, with it keeps what the base config says of it', () => {
    const space = loadSpace('base');
    const base: ModelConfig = {
      ...cpuModel,
      dynamic_batching: { max_queue_delay_microseconds: 300, priority_levels: 2 },
    };
    expect(candidateOf(space, base, { max_batch_size: 4, dynamic_batching: false }).config).not.toHaveProperty(
      'dynamic_batching',
    );
    expect(candidateOf(space, base, { max_batch_size: 4, dynamic_batching: true }).config.dynamic_batching).toEqual({
      max_queue_delay_microseconds: 300,
      priority_levels: 2,
    });
    const { dynamic_batching: _, ...without } = cpuModel;
    const config = candidateOf(space, without, {
      max_batch_size: 4,
      dynamic_batching: true,
      queue_delay_us: 500,
    }).config;
    expect(config.dynamic_batching).toEqual({ max_queue_delay_microseconds: 500 });
  });

  it('keeps of the preferred batch sizes those that still fit, and has the new largest among them', () => {
    const space = spaceOf('parameters: { max_batch_size: [4, 8, 16], instances: [2] }');
    const sizesAt = (preferred: number[], max: number): unknown =>
      candidateOf(
        space,
        { ...cpuModel, dynamic_batching: { preferred_batch_size: preferred } },
        { max_batch_size: max, instances: 2 },
      ).config.dynamic_batching?.preferred_batch_size;
    expect(sizesAt([8], 4)).toBeUndefined();
    expect(sizesAt([8], 16)).toBeUndefined();
    expect(sizesAt([2, 4, 8], 4)).toEqual([2, 4]);
    expect(sizesAt([2, 4], 16)).toEqual([2, 4, 16]);
    expect(sizesAt([2, 4], 8)).toEqual([2, 4]);
  });

  it.each([
    ['max', 32, undefined],
    ['multiples_of_8', 32, [8, 16, 24, 32]],
    ['multiples_of_8', 20, [8, 16, 20]],
    ['multiples_of_8', 8, undefined],
    ['multiples_of_8', 4, undefined],
    ['multiples_of_8', 1024, Array.from({ length: 16 }, (_, index) => 64 * (index + 1))],
  ])('with preferred sizes %s and a largest batch of %d prefers %j', (value, max, sizes) => {
    const space = spaceOf(
      'parameters: { max_batch_size: [4, 8, 20, 32, 1024], preferred_batch_size: [max, multiples_of_8] }',
    );
    const own = { ...cpuModel, dynamic_batching: { preferred_batch_size: [2, 4], max_queue_delay_microseconds: 100 } };
    expect(
      candidateOf(space, own, { max_batch_size: max, preferred_batch_size: value }).config.dynamic_batching,
    ).toEqual({ max_queue_delay_microseconds: 100, ...(sizes && { preferred_batch_size: sizes }) });
  });

  it.each([
    ['max', 6, [6]],
    ['each', 6, [1, 2, 4, 6]],
    ['each', 8, [1, 2, 4, 8]],
    ['each', 1, [1]],
  ])('with a warm-up %s and a largest batch of %d executes zeros of the batches %j', (value, max, batches) => {
    const space = spaceOf('parameters: { model_warmup: [max, each], max_batch_size: [1, 6, 8] }');
    const own = { ...cpuModel, input: [{ name: 'x', data_type: 'TYPE_FP32', dims: [3, 4] }] } as typeof cpuModel;
    const { config } = candidateOf(space, own, { max_batch_size: max, model_warmup: value });
    expect(config.model_warmup).toEqual(
      batches.map((batch) => ({
        name: `batch_${batch}`,
        batch_size: batch,
        count: 1,
        inputs: { x: { data_type: 'TYPE_FP32', dims: [3, 4], zero_data: true } },
      })),
    );
  });

  it('makes no warm-up for an input of any size', () => {
    const own = { ...cpuModel, input: [{ name: 'x', data_type: 'TYPE_FP32', dims: [-1] }] } as typeof cpuModel;
    expect(reasonOf(spaceOf('parameters: { model_warmup: [max] }'), own, { model_warmup: 'max' })).toBe(
      "model_warmup needs sizes, and input 'x' has a dimension of any size",
    );
  });

  it.each([
    ['cuda_graph_spec', 'powers_of_2', 'optimization.cuda.graph_spec'],
    ['model_warmup', 'each', 'model_warmup'],
  ])('with %s %s has equal settings at every largest batch', (name, value, path) => {
    const space = spaceOf(`parameters: { ${name}: [${value}], max_batch_size: [2, 8] }`);
    const plan = { ...gpuModel, backend: 'tensorrt' };
    const settingsAt = (max: number) => candidateOf(space, plan, { max_batch_size: max, [name]: value }).shape;
    expect(settingsAt(2).settings).toEqual(settingsAt(8).settings);
    expect(settingsAt(2).settings[`.${path}`]).toBe(value);
    expect(settingsAt(2).rest).toBe(settingsAt(8).rest);
  });

  it('has the policy of the queue, the rate limiter and the strategy of sequences by short names', () => {
    const queue =
      'parameters: { queue_size: [64], queue_timeout_us: [5000], timeout_action: [REJECT], priority_levels: [2], default_priority: [1] }';
    const policy = {
      queue_size: 64,
      queue_timeout_us: 5000,
      timeout_action: 'REJECT',
      priority_levels: 2,
      default_priority: 1,
    };
    expect(configOf(queue, gpuModel, policy).dynamic_batching).toMatchObject({
      default_queue_policy: { max_queue_size: 64, default_timeout_microseconds: 5000 },
      priority_levels: 2,
      default_priority_level: 1,
    });
    const limiter = 'parameters: { rate_limiter_priority: [2], rate_limiter_resources: [[{ name: R, count: 1 }]] }';
    const held = { rate_limiter_priority: 2, rate_limiter_resources: [{ name: 'R', count: 1 }] };
    expect(configOf(limiter, gpuModel, held).instance_group?.[0]).toMatchObject({
      rate_limiter: { priority: 2, resources: [{ name: 'R', count: 1 }] },
    });
    const { dynamic_batching: _, ...plain } = gpuModel;
    const sequences: ModelConfig = { ...plain, sequence_batching: { direct: { minimum_slot_utilization: 0.5 } } };
    const space = spaceOf(`
parameters:
  sequence_strategy: [direct, oldest]
  candidate_sequences: { values: [8], when: { sequence_strategy: oldest } }`);
    expect(
      candidateOf(space, sequences, { sequence_strategy: 'oldest', candidate_sequences: 8 }).config.sequence_batching,
    ).toEqual({
      oldest: { max_candidate_sequences: 8 },
    });
    expect(candidateOf(space, sequences, { sequence_strategy: 'direct' }).config.sequence_batching).toEqual(
      sequences.sequence_batching,
    );
    expect(reasonOf(space, gpuModel, { sequence_strategy: 'oldest' })).toMatch(/the model takes no sequences/);
    expect(reasonOf(spaceOf('parameters: { inflight_requests: [4] }'), gpuModel, { inflight_requests: 4 })).toMatch(
      /no ensemble/,
    );
    expect(faultOf('parameters: { sequence_strategy: [newest] }').message).toMatch(
      /"newest" is not one of direct, oldest/,
    );
  });

  it("keeps the base config's CUDA graphs within the largest batch", () => {
    const cuda = { graphs: true, graph_spec: [{ batch_size: 2 }, { batch_size: 8 }] };
    const own = { ...gpuModel, backend: 'tensorrt', max_batch_size: 8, optimization: { cuda } };
    const config = configOf('parameters: { max_batch_size: [4] }', own, { max_batch_size: 4 });
    expect(config.optimization).toMatchObject({ cuda: { graphs: true, graph_spec: [{ batch_size: 2 }] } });
  });

  it("has no CUDA graphs of the config on ONNX Runtime, but its accelerator's", () => {
    expect(reasonOf(spaceOf('parameters: { cuda_graphs: [on] }'), gpuModel, { cuda_graphs: true })).toMatch(
      /cuda_graphs does not apply: the ONNX Runtime backend ignores it/,
    );
    const space = spaceOf('extends: onnxruntime');
    const assignment = { tensorrt_precision: 'FP16', trt_cuda_graph: 1 };
    expect(candidateOf(space, gpuModel, assignment).config.optimization).toMatchObject({
      execution_accelerators: {
        gpu_execution_accelerator: [
          { name: 'tensorrt', parameters: { precision_mode: 'FP16', trt_cuda_graph_enable: '1' } },
        ],
      },
    });
    expect(reasonOf(space, gpuModel, { tensorrt_precision: 'none', trt_cuda_graph: 1 })).toMatch(/does not apply/);
  });

  it('has BF16 where the GPUs have it, and INT8 where the base config names a calibration table', () => {
    const table = { name: 'tensorrt', parameters: { int8_calibration_table_name: 'table.flatbuffers' } };
    const calibrated: ModelConfig = {
      ...gpuModel,
      optimization: { execution_accelerators: { gpu_execution_accelerator: [table] } },
    };
    const legal = (base: ModelConfig, bf16: number | null) =>
      ['FP16', 'BF16', 'INT8'].filter(
        (precision) =>
          reasonOf(loadSpace('onnxruntime', { limits: { bf16 } }), base, { tensorrt_precision: precision }) === 'legal',
      );
    expect(legal(gpuModel, null)).toEqual(['FP16']);
    expect(legal(gpuModel, 1)).toEqual(['FP16', 'BF16']);
    expect(legal(calibrated, null)).toEqual(['FP16', 'INT8']);
    expect(legal(calibrated, 1)).toEqual(['FP16', 'BF16', 'INT8']);
  });

  it("keeps the base config's warm-up within the largest batch", () => {
    const space = spaceOf('parameters: { max_batch_size: [4, 16] }');
    const sample = (size: number) => ({ name: `own_${size}`, batch_size: size, inputs: {} });
    const own = { ...cpuModel, max_batch_size: 8, model_warmup: [sample(2), sample(8)] } as typeof cpuModel;
    const batchesAt = (max: number) =>
      (candidateOf(space, own, { max_batch_size: max }).config.model_warmup as { batch_size: number }[]).map(
        ({ batch_size }) => batch_size,
      );
    expect(batchesAt(4)).toEqual([2, 4]);
    expect(batchesAt(16)).toEqual([2, 8]);
  });

  it('has preferred batch sizes from the space only when they fit', () => {
    const space = spaceOf('extends: base\nparameters: { preferred_batch_size: [4, [8, 16]] }');
    expect(candidateOf(space, cpuModel, { preferred_batch_size: 4 }).config.dynamic_batching).toEqual({
      preferred_batch_size: [4],
    });
    expect(reasonOf(space, cpuModel, { preferred_batch_size: [8, 16] })).toBe(
      'a preferred batch size is above max_batch_size',
    );
  });

  it.each<readonly [string, string, Assignment, Json]>([
    ['CUDA graphs', 'cuda_graphs: [on]', { cuda_graphs: true }, { optimization: { cuda: { graphs: true } } }],
    [
      'a backend parameter as text',
      'parameters.intra_op_thread_count: [1, 4]',
      { 'parameters.intra_op_thread_count': 4 },
      { parameters: { intra_op_thread_count: { string_value: '4' } } },
    ],
    [
      'a backend parameter with dots in its name',
      `shrink: { path: 'parameters["memory.enable_memory_arena_shrinkage"]', values: ["gpu:0"] }`,
      { shrink: 'gpu:0' },
      { parameters: { 'memory.enable_memory_arena_shrinkage': { string_value: 'gpu:0' } } },
    ],
    [
      'the precision of the TensorRT accelerator',
      'tensorrt_precision: [none, FP16]',
      { tensorrt_precision: 'FP16' },
      {
        optimization: {
          execution_accelerators: {
            gpu_execution_accelerator: [{ name: 'tensorrt', parameters: { precision_mode: 'FP16' } }],
          },
        },
      },
    ],
    [
      "an accelerator's parameter, found by name",
      'workspace: { path: "optimization.execution_accelerators.gpu_execution_accelerator[name=tensorrt].parameters.max_workspace_size_bytes", values: [1024] }',
      { workspace: 1024 },
      {
        optimization: {
          execution_accelerators: {
            gpu_execution_accelerator: [{ name: 'tensorrt', parameters: { max_workspace_size_bytes: '1024' } }],
          },
        },
      },
    ],
    ['a plan file', 'plan_file: [a.plan, b.plan]', { plan_file: 'b.plan' }, { default_model_filename: 'b.plan' }],
    [
      'a plan version',
      'plan_version: [1, 3]',
      { plan_version: 3 },
      { version_policy: { specific: { versions: [3] } } },
    ],
    ['the response cache', 'response_cache: [on]', { response_cache: true }, { response_cache: { enable: true } }],
    [
      'a choice that sets several fields',
      'precision: { choices: { fp32: {}, fp16: { parameters.precision: fp16, optimization.cuda.graphs: on, default_model_filename: f.plan } } }',
      { precision: 'fp16' },
      {
        parameters: { precision: { string_value: 'fp16' } },
        optimization: { cuda: { graphs: true } },
        default_model_filename: 'f.plan',
      },
    ],
    ['nothing for null', 'cuda_graphs: [null, on]', { cuda_graphs: null }, {}],
  ])('can be given %s', (_, parameter, assignment, fields) => {
    const { version_policy: __, optimization: ___, ...kept } = gpuModel;
    const plain = { ...kept, backend: 'tensorrt' };
    const before = candidateOf(spaceOf(''), plain, {}).config;
    expect(configOf(`parameters:\n  ${parameter}\n`, plain, assignment)).toEqual({ ...before, ...(fields as object) });
  });

  it('loses a field for null in a choice, and for none TensorRT but no other accelerator', () => {
    const cuda = { name: 'cuda', parameters: { tunable_op: '1' } };
    const accelerators = { gpu_execution_accelerator: [{ name: 'tensorrt' }, cuda] };
    const base: ModelConfig = { ...gpuModel, optimization: { execution_accelerators: accelerators }, runtime: 'x' };
    const config = configOf(
      'parameters: { tensorrt_precision: [none], plain: { choices: { yes: { runtime: null } } } }',
      base,
      { tensorrt_precision: 'none', plain: 'yes' },
    );
    expect(config).not.toHaveProperty('runtime');
    expect(config.optimization).toEqual({ execution_accelerators: { gpu_execution_accelerator: [cuda] } });
  });

  it.each([
    ['onnxruntime', { tensorrt_precision: 'FP16' }],
    ['tensorflow', { accelerator: 'tensorrt_fp16' }],
  ])(
    'of the preset %s keeps what the base config says of an accelerator beside its precision',
    (preset, assignment) => {
      const kept = { max_workspace_size_bytes: '1073741824', trt_engine_cache_enable: '1' };
      const onCpu = { cpu_execution_accelerator: [{ name: 'openvino' }] };
      const base = (parameters: Record<string, string>): ModelConfig => ({
        ...gpuModel,
        optimization: {
          execution_accelerators: { gpu_execution_accelerator: [{ name: 'tensorrt', parameters }], ...onCpu },
        },
      });
      const config = candidateOf(loadSpace(preset), base({ precision_mode: 'FP32', ...kept }), assignment).config;
      expect(config.optimization).toEqual(base({ precision_mode: 'FP16', ...kept }).optimization);
    },
  );

  it("of tensorflow's choices takes TensorRT out where mixed precision comes in, and the other way round", () => {
    const accelerators = (...list: object[]): ModelConfig =>
      ({
        ...gpuModel,
        optimization: { execution_accelerators: { gpu_execution_accelerator: list } },
      }) as unknown as ModelConfig;
    const [amp, gpuIo] = [{ name: 'auto_mixed_precision' }, { name: 'gpu_io' }];
    const tensorrt = { name: 'tensorrt', parameters: { precision_mode: 'FP32' } };
    const space = loadSpace('tensorflow');
    const mixed = candidateOf(space, accelerators(gpuIo, tensorrt), { accelerator: 'mixed_precision' }).config;
    expect(mixed.optimization).toEqual(accelerators(gpuIo, amp).optimization);
    const plain = candidateOf(space, accelerators(amp, gpuIo), { accelerator: 'tensorrt_fp32' }).config;
    expect(plain.optimization).toEqual(accelerators(gpuIo, tensorrt).optimization);
  });

  it('of onnxruntime on the CPU has OpenVINO or has not, and keeps its parameters', () => {
    const space = loadSpace('onnxruntime');
    const openvino = { name: 'openvino', parameters: { num_of_threads: '2' } };
    const base: ModelConfig = {
      ...cpuModel,
      optimization: { execution_accelerators: { cpu_execution_accelerator: [openvino] } },
    };
    expect(candidateOf(space, base, { openvino: true }).config.optimization).toEqual(base.optimization);
    expect(candidateOf(space, base, { openvino: false }).config.optimization).toEqual({ execution_accelerators: {} });
    expect(candidateOf(space, cpuModel, { openvino: true }).config.optimization?.execution_accelerators).toEqual({
      cpu_execution_accelerator: [{ name: 'openvino' }],
    });
    expect(reasonOf(space, gpuModel, { openvino: true })).toMatch(/^openvino does not apply/);
  });
});

describe('an assignment that is not legal', () => {
  const space = loadSpace('base', { limits: { max_batch_size: 16 } });

  it.each<readonly [string, Assignment, string]>([
    [
      'of an unknown parameter',
      { instance: 1 },
      "the search space has no parameter 'instance' (did you mean 'instances'?)",
    ],
    ['of a name from the prototype', { constructor: 1 }, "the search space has no parameter 'constructor'"],
    [
      'of a value that is not there',
      { instances: 99 },
      '99 is not one of the values of instances: 1, 2, 3, 4, 5, 6, 7, 8',
    ],
    [
      'of a parameter that does not apply',
      { max_batch_size: 4, dynamic_batching: false, queue_delay_us: 100 },
      'queue_delay_us does not apply: it needs that dynamic_batching is on',
    ],
    ['that breaks a rule', { max_batch_size: 32 }, 'max_batch_size is above the limit that you stated for the model'],
  ])('%s says why', (_, assignment, reason) => {
    expect(reasonOf(space, cpuModel, assignment)).toBe(reason);
  });

  it('on this model says what is in the way', () => {
    const { dynamic_batching: _, ...plain } = cpuModel;
    const sequences = { ...plain, sequence_batching: {} };
    expect(reasonOf(space, sequences, { dynamic_batching: true })).toBe(
      'dynamic_batching does not apply: the model uses sequence batching',
    );
    expect(reasonOf(space, { ...plain, max_batch_size: 0 }, { max_batch_size: 4 })).toBe(
      'max_batch_size does not apply: the model has no batch dimension',
    );
    expect(reasonOf(loadSpace('tensorrt'), cpuModel, { cuda_graphs: true })).toBe(
      'cuda_graphs does not apply: the model runs on the CPU',
    );
  });

  it('says what Triton itself would refuse, where no rule of the space does', () => {
    const own = spaceOf(
      'parameters: { preferred_batch_size: [[16]], levels: { path: dynamic_batching.priority_levels, values: [2] } }',
    );
    expect(reasonOf(own, cpuModel, { preferred_batch_size: [16] })).toMatch(
      /^Triton would refuse it: .*preferred_batch_size/,
    );
    expect(reasonOf(own, cpuModel, { levels: 2 })).toMatch(/^Triton would refuse it: .*priority_level/);
  });

  it('cannot set a list item far beyond the end', () => {
    const far = spaceOf('parameters: { x: { path: "instance_group[5].count", values: [1] } }');
    expect(reasonOf(far, cpuModel, { x: 1 })).toMatch(/the list before it has only 1 item/);
  });
});

describe('buildCandidate', () => {
  const space = loadSpace('onnxruntime');
  const all = [...assignments(space, toOriginal(gpuModel))];
  const some = fc.nat({ max: all.length - 1 }).map((index) => all[index] as Assignment);

  it('is pure: it leaves the base config as it was and gives the same again', () => {
    const before = canonicalJson(gpuModel as Json);
    fc.assert(
      fc.property(some, (assignment) => {
        const first = buildCandidate(space, toOriginal(gpuModel), assignment);
        expect(buildCandidate(space, toOriginal(structuredClone(gpuModel)), assignment)).toEqual(first);
        expect(canonicalJson(gpuModel as Json)).toBe(before);
      }),
    );
  });

  it('changes a candidate by its own assignment no more: it is a base config that already has the values', () => {
    fc.assert(
      fc.property(some, (assignment) => {
        const first = candidateOf(space, gpuModel, assignment);
        expect(candidateOf(space, first.config, assignment).fingerprint).toBe(first.fingerprint);
      }),
    );
  });
});
