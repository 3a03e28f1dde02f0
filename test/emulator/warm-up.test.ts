import { describe, expect, it, onTestFinished } from 'vitest';
import type { JsonObject } from '#base/json.ts';
import { NS_PER_MS } from '#base/units.ts';
import type { EmulatedModelSimulator } from '#emulator/scheduling/model-simulator.ts';
import { createWarmUp } from '#emulator/scheduling/warm-up.ts';
import type { ModelConfig } from '#triton/config/model-config.ts';
import { serviceMethod } from '#triton/wire/proto.ts';
import { smallProfile } from '../support/emulator.ts';
import { fp32Input, inferMessage } from '../support/infer-clients.ts';
import { openVirtualEmulator, type VirtualEmulator } from '../support/virtual-emulator.ts';

const inputs = { IN: { data_type: 'TYPE_FP32', dims: [4], zero_data: true } };
const warmed = (...samples: JsonObject[]) => ({
  model_warmup: samples.map((sample) => ({ name: 'w', inputs, ...sample })),
});

/** Executions of 10 ms; a first one takes 40 ms longer, and one of a new size 5 ms. */
const cold = { first_execution_ms: 40, first_execution_of_size_ms: 5 };
const start = (change: object): VirtualEmulator => {
  const emulator = openVirtualEmulator({ profile: smallProfile({ a: 10, b: 0, model: cold, ...change }) });
  onTestFinished(() => emulator.close());
  return emulator;
};

async function load(emulator: VirtualEmulator, change: object): Promise<number> {
  const { config } = (smallProfile().models as { config: object }[])[0] as { config: object };
  const { requestType } = serviceMethod('RepositoryModelLoad');
  const json = JSON.stringify({ ...config, ...change });
  const fromNs = emulator.clock.nowNs();
  const call = requestType.fromObject({ model_name: 'm', parameters: { config: { string_param: json } } });
  const message = requestType.encode(call).finish();
  expect(await emulator.grpc('RepositoryModelLoad', [message])).toMatchObject({ failure: null });
  return (emulator.clock.nowNs() - fromNs) / NS_PER_MS;
}

async function inferMs(emulator: VirtualEmulator): Promise<number> {
  const fromNs = emulator.clock.nowNs();
  expect(await emulator.grpc('ModelInfer', [inferMessage('m', [fp32Input([1, 4])])])).toMatchObject({ failure: null });
  return (emulator.clock.nowNs() - fromNs) / NS_PER_MS;
}

it('takes the cold start during the load, which lasts as much longer', async () => {
  const emulator = start({});
  expect(await load(emulator, { max_batch_size: 4 })).toBeCloseTo(20, 6);
  expect(await inferMs(emulator)).toBeCloseTo(10 + 40 + 5, 6);
  // Two sizes: 3 executions of one, one of the other.
  const both = warmed({ batch_size: 1, count: 3 }, { batch_size: 4 });
  expect(await load(emulator, { max_batch_size: 4, ...both })).toBeCloseTo(20 + 4 * 10 + 40 + 2 * 5, 6);
  expect(await inferMs(emulator)).toBeCloseTo(10, 6);
});

it('leaves the sizes cold that were not warmed up', async () => {
  const emulator = start({ config: warmed({ batch_size: 2 }) });
  expect(await inferMs(emulator)).toBeCloseTo(10 + 5, 6);
});

it('warms up the instances that are added, side by side', async () => {
  const emulator = start({});
  const warm = warmed({ batch_size: 1 });
  await load(emulator, { ...warm, instance_group: [{ count: 1, kind: 'KIND_CPU' }] });
  expect(await load(emulator, { ...warm, instance_group: [{ count: 3, kind: 'KIND_CPU' }] })).toBeCloseTo(10 + 55, 6);
});

it('goes in turns where fewer execute at once, and refuses what the model would not take', () => {
  const simulator = { executionNs: () => 1e6, atOnce: 2, firstOfSizeMs: 0 };
  const warmUp = (config: ModelConfig) =>
    createWarmUp('m', config, 5, simulator as unknown as EmulatedModelSimulator, () => 0);
  const config = { max_batch_size: 8, input: [{ name: 'IN', data_type: 'TYPE_FP32', dims: [4] }] };
  expect(warmUp({ ...config, ...warmed({ batch_size: 8, count: 10 }) }).seconds).toBeCloseTo(0.03, 9);
  expect(warmUp({ ...config, ...warmed({ batch_size: 0 }) })).toEqual({ samples: [], seconds: 0 });
  expect(() => warmUp({ ...config, ...warmed({ batch_size: 9 }) })).toThrow(/batch size 9 .* max allowed is 8/);
  expect(() => warmUp({ ...config, ...warmed({ batch_size: 1, inputs: {} }) })).toThrow(/expected 1 inputs but got 0/);
});

describe('an engine that an arm builds at the first execution', () => {
  const tensorrt = (parameters: JsonObject): JsonObject => ({
    optimization: { execution_accelerators: { gpu_execution_accelerator: [{ name: 'tensorrt', parameters }] } },
  });
  const accelerator = 'optimization.execution_accelerators.gpu_execution_accelerator.name';
  const arms = [{ name: 'TensorRT', when: { [accelerator]: 'tensorrt' }, first_execution_ms: 500 }];
  const coldMs = async (emulator: VirtualEmulator, change: object): Promise<number> => {
    await load(emulator, change);
    return (await inferMs(emulator)) - 10 - 5;
  };

  it('is built anew by every load, unless the config keeps it', async () => {
    const emulator = start({ model: { ...cold, arms } });
    const kept = { trt_engine_cache_enable: '1', trt_engine_cache_path: '/tmp/engines' };
    expect(await coldMs(emulator, tensorrt({}))).toBeCloseTo(500, 6);
    expect(await coldMs(emulator, tensorrt({ a: 'b' }))).toBeCloseTo(500, 6);
    expect(await coldMs(emulator, tensorrt(kept))).toBeCloseTo(500, 6);
    expect(await coldMs(emulator, { ...tensorrt(kept), max_batch_size: 4 })).toBeCloseTo(40, 6);
    expect(await coldMs(emulator, tensorrt({ ...kept, trt_engine_cache_path: '/tmp/others' }))).toBeCloseTo(500, 6);
  });

  it('is there in the load that warms up', async () => {
    const emulator = start({ model: { ...cold, arms } });
    const kept = tensorrt({ trt_engine_cache_enable: 'true', trt_engine_cache_path: '/tmp/engines' });
    const warm = warmed({ batch_size: 1 });
    expect(await load(emulator, { ...kept, ...warm, max_batch_size: 4 })).toBeCloseTo(20 + 500 + 15, 6);
    expect(await load(emulator, { ...kept, ...warm, max_batch_size: 8 })).toBeCloseTo(20 + 40 + 15, 6);
  });
});
