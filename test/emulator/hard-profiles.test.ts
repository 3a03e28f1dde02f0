import { describe, expect, it } from 'vitest';
import type { JsonObject } from '#base/json.ts';
import { seededRandom } from '#base/random.ts';
import { loadProfile } from '#emulator/profile/profiles.ts';
import type { ModelProfile } from '#emulator/profile/schema.ts';
import { createModelSimulator, toLaw } from '#emulator/profile/simulators.ts';
import { toPolicy } from '#queueing/batcher-policy.ts';
import { simulate } from '#queueing/simulate.ts';
import type { Simulation } from '#queueing/tally.ts';
import type { ModelConfig } from '#triton/config/model-config.ts';

const modelOf = (profile: string): ModelProfile => loadProfile(profile).models[0] as ModelProfile;

function serve(model: ModelProfile, change: object, concurrency: number): Simulation {
  const config = { ...model.config, ...change } as ModelConfig;
  const extent = { warmUpRequests: 10 * concurrency, requests: 2000, seed: 1 };
  return simulate(toPolicy(config, 1), toLaw(model, []), { kind: 'closed', concurrency }, extent);
}

describe('the profiles that are hard to tune', () => {
  it('harmful-delay gives a quarter with its own delay of what it gives with a short one', () => {
    const model = modelOf('harmful-delay');
    const own = serve(model, {}, 8);
    const short = serve(
      model,
      { dynamic_batching: { preferred_batch_size: [32], max_queue_delay_microseconds: 1000 } },
      8,
    );
    expect(own.requestsPerSecond / short.requestsPerSecond).toBeLessThan(0.3);
    expect(own.latencyNs.p50 / short.latencyNs.p50).toBeGreaterThan(4);
  });

  it('cliff is faster with batches of 16 than with larger ones', () => {
    const model = modelOf('cliff');
    const rate = (max_batch_size: number): number => serve(model, { max_batch_size }, 128).requestsPerSecond;
    expect(rate(16)).toBeGreaterThan(1.5 * rate(32));
    expect(rate(16)).toBeGreaterThan(1.3 * rate(64));
  });

  it('oom has no room for a fourth instance', () => {
    const { device, models } = loadProfile('oom');
    const { memoryMib } = createModelSimulator(
      models[0] as ModelProfile,
      models[0]?.config as ModelConfig,
      seededRandom(1),
    );
    expect(memoryMib(3)).toBeLessThan(device.memory_mib);
    expect(memoryMib(4)).toBeGreaterThan(device.memory_mib);
  });

  it('slow-precision halves the time with FP16, and then takes half a minute to load', () => {
    const model = modelOf('slow-precision');
    const precision = [{ name: 'tensorrt', parameters: { precision_mode: 'FP16' } }];
    const config = { optimization: { execution_accelerators: { gpu_execution_accelerator: precision } } };
    const exact = { ...model, law: { ...model.law, cv: 0 } };
    const [plain, half] = [{}, config].map((each) => createModelSimulator(exact, each, seededRandom(1)));
    expect((half?.executionNs(16, 1) ?? 0) / (plain?.executionNs(16, 1) ?? 0)).toBeCloseTo(0.5, 3);
    expect(half?.load.fullSeconds).toBeGreaterThanOrEqual(30);
  });

  it('first-build builds its engine for the first request: a minute at FP16', () => {
    const model = modelOf('first-build');
    const precision = (parameters: JsonObject) => [{ name: 'tensorrt', parameters }];
    const withTensorRt = (parameters: JsonObject): ModelConfig => ({
      optimization: { execution_accelerators: { gpu_execution_accelerator: precision(parameters) } },
    });
    const configs: readonly ModelConfig[] = [{}, withTensorRt({}), withTensorRt({ precision_mode: 'FP16' })];
    const simulators = configs.map((config) => createModelSimulator(model, config, seededRandom(1)));
    expect(simulators.map(({ firstExecutionMs }) => firstExecutionMs)).toEqual([50, 45_000, 60_000]);
    expect(simulators.map(({ load }) => load.fullSeconds)).toEqual([0.3, 0.3, 0.3]);
  });

  it.each(['tft-a100', 'tft-a30', 'tft-v100', 'tft-t4', 'tft-t4-pytorch', 'yolov7-rtx4090'])(
    '%s names its source and that it is emulated',
    (name) => {
      const { source, device } = loadProfile(name);
      expect(source).toMatch(/Calibrated/);
      expect(device.name).toMatch(/\(emulated\)/);
    },
  );
});
