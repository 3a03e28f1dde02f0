import { readdirSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { canonicalJson } from '#base/json.ts';
import { seededRandom } from '#base/random.ts';
import { buildCandidate } from '#space/candidate.ts';
import { describeGroups, describeParameter, describeSpace } from '#space/describe.ts';
import { assignments, sampleAssignment, spaceSize } from '#space/enumerate.ts';
import { toModelConfig, toOriginal } from '#space/model-configs.ts';
import { loadSpace, spaceFromJson, spaceToJson } from '#space/source/load.ts';
import { presetFor, presetNames } from '#space/source/presets.ts';
import type { Limits } from '#space/types.ts';
import type { ModelConfig } from '#triton/config/model-config.ts';
import { cpuModel, gpuModel, spaceOf } from './fixtures.ts';

const gpuOnly = /optimization\.cuda|gpu_execution_accelerator|"gpus"/;

/** Some of the configs that the preset can send for the model, as text. */
function configsOf(preset: string, base: ModelConfig, limits: Limits = {}): string[] {
  const space = loadSpace(preset, { limits });
  const random = seededRandom(7);
  if (assignments(space, toOriginal(base)).next().done) return [];
  return Array.from({ length: 100 }, () => {
    const outcome = buildCandidate(space, toOriginal(base), sampleAssignment(space, toOriginal(base), random));
    if (!outcome.legal) throw new Error(outcome.reason);
    return JSON.stringify(toModelConfig(outcome.candidate));
  });
}

describe('presetFor', () => {
  it.each([
    ['onnxruntime', 'onnxruntime'],
    ['onnxruntime_onnx', 'onnxruntime'],
    ['tensorrt_plan', 'tensorrt'],
    ['pytorch_libtorch', 'pytorch'],
    ['torch_aoti', 'pytorch'],
    ['tensorflow_savedmodel', 'tensorflow'],
    ['python', 'python'],
    ['tensorrt_llm', 'base'],
    ['dali', 'base'],
    ['vllm', 'engines/vllm'],
    ['tensorrtllm', 'tensorrtllm'],
    ['base', 'base'],
    ['../base', 'base'],
    ['', 'base'],
    [undefined, 'base'],
  ])('gives for %s the preset %s', (backend, preset) => {
    expect(presetFor(backend)).toBe(preset);
  });
});

describe('the presets', () => {
  it('are the files of search-spaces/', () => {
    const folder = new URL('../../search-spaces/', import.meta.url);
    const files = readdirSync(folder, { recursive: true, encoding: 'utf8' });
    const names = files.flatMap((file) => (file.endsWith('.yaml') ? [file.slice(0, -5)] : []));
    expect(presetNames()).toEqual(names.sort());
    expect(presetNames()).toEqual([
      ...['base', 'engines/llama-cpp', 'engines/sglang', 'engines/tensorrt-llm', 'engines/vllm'],
      ...['onnxruntime', 'openvino', 'python', 'pytorch', 'tensorflow', 'tensorrt', 'tensorrtllm'],
    ]);
  });

  it.each(presetNames())('%s is named as its file and is for its backend', (name) => {
    const space = loadSpace(name);
    expect(space.name).toBe(name.replace('engines/', ''));
    expect(space.backend).toBe(name === 'base' || space.engine ? null : name);
    expect(space.engine?.name ?? space.backend ?? 'base').toBe(space.name);
    expect(space.description).not.toBe('');
  });

  const ofTensors = presetNames().filter((name) => !loadSpace(name).law);

  it.each(ofTensors)('%s ends with the instances, which change in place', (name) => {
    const last = loadSpace(name).parameters.at(-1);
    expect(last?.name).toBe('instances');
    expect(last?.change).toBe('in-place');
  });

  it.each(ofTensors)('%s sends nothing of a GPU to a model on the CPU', (name) => {
    expect(configsOf(name, cpuModel).filter((config) => gpuOnly.test(config))).toEqual([]);
  });

  it.each(ofTensors)('%s keeps its hands off the batching of a model that must not have any', (name) => {
    const { dynamic_batching: _, ...plain } = cpuModel;
    const sequences = configsOf(name, { ...plain, sequence_batching: { max_sequence_idle_microseconds: 5_000_000 } });
    expect(sequences.filter((config) => config.includes('dynamic_batching'))).toEqual([]);
    const unbatched = configsOf(name, { ...plain, max_batch_size: 0 });
    expect(unbatched.filter((config) => /dynamic_batching|max_batch_size/.test(config))).toEqual([]);
    expect(unbatched.length).toBeGreaterThan(1);
  });

  it.each(presetNames())('%s leaves an ensemble without instances and batching', (name) => {
    const { dynamic_batching: _, instance_group: __, ...plain } = cpuModel;
    const ensemble = { ...plain, ensemble_scheduling: { step: [{ model_name: 'a', model_version: -1 }] } };
    expect(configsOf(name, ensemble).filter((text) => /dynamic_batching|instance_group/.test(text))).toEqual([]);
  });

  it.each(presetNames())('%s comes back from the journal as it was', (name) => {
    const space = loadSpace(name, { limits: { cores: 4 } });
    const again = spaceFromJson(JSON.parse(JSON.stringify(spaceToJson(space))));
    expect(again).toEqual(space);
  });

  it('have GPU knobs for a model on a GPU', () => {
    const plan = { ...gpuModel, backend: 'tensorrt' };
    expect(configsOf('tensorrt', plan).some((text) => text.includes('"graphs":true,"graph_spec"'))).toBe(true);
    expect(configsOf('onnxruntime', gpuModel).some((text) => text.includes('"precision_mode":"FP16"'))).toBe(true);
    expect(configsOf('tensorflow', gpuModel).some((text) => text.includes('auto_mixed_precision'))).toBe(true);
  });

  it('have for PyTorch what the kind of model can use', () => {
    const pytorch = { ...gpuModel, backend: 'pytorch' };
    const knobsOf = (base: ModelConfig): string[] => {
      const names = [
        'OPTIMIZED',
        'INFERENCE_MODE',
        'WEIGHT_SHARING',
        'TORCH_COMPILE',
        'NUM_THREADS',
        'reduce-overhead',
      ];
      const configs = configsOf('pytorch', base);
      return names.filter((name) => configs.some((text) => text.includes(name)));
    };
    const script = ['OPTIMIZED', 'INFERENCE_MODE', 'WEIGHT_SHARING'];
    expect(knobsOf({ ...pytorch, platform: 'pytorch_libtorch' })).toEqual(script);
    expect(knobsOf(pytorch)).toEqual(script);
    expect(knobsOf({ ...pytorch, platform: 'torch_aoti' })).toEqual(['INFERENCE_MODE', 'WEIGHT_SHARING']);
    expect(knobsOf({ ...pytorch, runtime: 'model.py' })).toEqual(['TORCH_COMPILE', 'reduce-overhead']);
    expect(knobsOf({ ...cpuModel, backend: 'pytorch', runtime: 'model.py' })).toEqual(['TORCH_COMPILE', 'NUM_THREADS']);
  });

  it('have no batches for an AOT Inductor package, which takes none', () => {
    const { dynamic_batching: _, ...plain } = { ...gpuModel, backend: 'pytorch', platform: 'torch_aoti' };
    const configs = configsOf('pytorch', { ...plain, max_batch_size: 1 });
    expect(configs.length).toBeGreaterThan(1);
    expect(configs.filter((text) => /dynamic_batching|"max_batch_size":(?!1\b)/.test(text))).toEqual([]);
  });

  it.each(['base', 'tensorrt'])(
    '%s has preferred sizes that follow the largest batch, and never lie above it',
    (name) => {
      const own = { ...gpuModel, dynamic_batching: { preferred_batch_size: [2, 4] } };
      const limits = { max_batch_size: 128, instances: 2 };
      for (const base of [gpuModel, own]) {
        const configs = configsOf(name, base, limits).map((text) => JSON.parse(text) as ModelConfig);
        const preferring = configs.filter(({ dynamic_batching: batching }) => batching?.preferred_batch_size);
        expect(preferring.length).toBeGreaterThan(0);
        for (const { max_batch_size: largest, dynamic_batching: batching } of preferring) {
          if (largest !== own.max_batch_size) expect(batching?.preferred_batch_size?.at(-1)).toBe(largest);
          expect(Math.max(...(batching?.preferred_batch_size ?? []))).toBeLessThanOrEqual(largest as number);
        }
      }
    },
  );

  it('respect what is stated about the model and the machine', () => {
    const free = loadSpace('base');
    const stated = loadSpace('base', {
      limits: { max_batch_size: 16, cores: 2, instances: 1, latency_budget_us: 1000 },
    });
    const of = (name: string): unknown[] => [
      ...new Set(
        [...assignments(stated, toOriginal(cpuModel))].map((assignment) => canonicalJson(assignment[name] ?? null)),
      ),
    ];
    expect(of('max_batch_size')).toEqual(['1', '2', '4', '8', '16']);
    expect(of('instances')).toEqual(['1']);
    expect(of('queue_delay_us')).toEqual(['null', '0', '100', '500']);
    expect(spaceSize(free, toOriginal(cpuModel))).toBeGreaterThan(spaceSize(stated, toOriginal(cpuModel)));
  });

  it('do not raise the largest batch of a TensorRT plan unless it is stated', () => {
    const largest = (limits: Record<string, number>): number =>
      Math.max(
        ...[...assignments(loadSpace('tensorrt', { limits }), toOriginal(gpuModel))].map((one) =>
          Number(one.max_batch_size),
        ),
      );
    expect(largest({})).toBe(8);
    expect(largest({ max_batch_size: 32 })).toBe(32);
  });

  it('say what becomes of several instance groups', () => {
    const groups = (...all: object[]) => toOriginal({ ...cpuModel, instance_group: all } as typeof cpuModel);
    const group = (name: string, count: number) => ({ name, count, kind: 'KIND_CPU' });
    const instances = spaceOf('parameters: { instances: [1, 2] }');
    expect(describeGroups(instances, groups(group('a', 1)))).toEqual([]);
    expect(
      describeGroups(spaceOf('parameters: { max_batch_size: [4] }'), groups(group('a', 1), group('b', 3))),
    ).toEqual([]);
    expect(describeGroups(instances, groups(group('a', 1), group('b', 3), group('c', 1)))).toEqual([
      "'mlp' has 3 instance groups: the count of a is searched, c has the same, b stays as it is",
    ]);
    const moved = spaceOf('parameters: { instances: [1, 2], instance_kind: [KIND_CPU, KIND_GPU] }');
    expect(describeGroups(moved, groups(group('a', 1), group('b', 3)))).toEqual([
      "'mlp' has 2 instance groups: candidates have the first alone",
    ]);
  });

  it.each([
    [null, 5000],
    [10_000, 5000],
    [20_000, 10_000],
    [40_000, 20_000],
  ])('have delays that a latency budget of %s µs has room for', (latency_budget_us, longest) => {
    const space = loadSpace('base', { limits: { latency_budget_us } });
    const base = toOriginal({ ...cpuModel, dynamic_batching: {} });
    const delays = [...assignments(space, base)].map(({ queue_delay_us }) => Number(queue_delay_us ?? 0));
    expect(Math.max(...delays)).toBe(longest);
  });

  it('describe themselves', () => {
    const text = describeSpace(loadSpace('onnxruntime'), toOriginal(cpuModel));
    expect(text).toContain('valid candidates');
    expect(text).toContain('tensorrt_precision does not apply: the model runs on the CPU');
    const delay = loadSpace('base').parameters.find(({ name }) => name === 'queue_delay_us');
    expect(delay && describeParameter(delay)).toBe(
      'queue_delay_us = 0, 500, 1000, 2000, 5000, 10000, 20000 when dynamic_batching is on and limits.latency_budget_us is at least 40000; 0, 100, 500, 1000, 2000, 5000, 10000 when dynamic_batching is on and limits.latency_budget_us is at least 20000; 0, 100, 500, 1000, 2000, 5000 when dynamic_batching is on [dynamic_batching.max_queue_delay_microseconds, reload]',
    );
  });
});
