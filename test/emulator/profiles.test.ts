import { readFileSync } from 'node:fs';
import { describe, expect, it, onTestFinished } from 'vitest';
import { seededRandom } from '#base/random.ts';
import { loadProfile, parseProfile, profileNames } from '#emulator/profile/profiles.ts';
import type { ModelProfile } from '#emulator/profile/schema.ts';
import { createModelSimulator } from '#emulator/profile/simulators.ts';
import type { ModelConfig } from '#triton/config/model-config.ts';
import { connectGrpc } from '#triton/control/connect.ts';
import { emulatorForTest, everyKindProfile } from '../support/emulator.ts';

const [sleeperText] = [readFileSync(new URL('../../emulator-profiles/sleeper.yaml', import.meta.url), 'utf8')];

describe('a profile of one model', () => {
  const config =
    '{ name: m, max_batch_size: 4, input: [{ name: A, data_type: TYPE_FP32, dims: [1] }], output: [{ name: B, data_type: TYPE_FP32, dims: [1] }] }';

  it('needs a model and a law, nothing else', () => {
    const profile = parseProfile(`models: [{ config: ${config}, law: { execution_ms: [[1, 2]] } }]`, 'mine.yaml');
    expect(profile).toMatchObject({ name: 'my-profile', device: { kind: 'cpu', memory_mib: 16384 } });
  });

  it('serves its model with the backend of its platform, or one of its own', async () => {
    const named = config.replace('name: m', 'name: n, platform: onnxruntime_onnx');
    const models = [config, named].map((each) => `{ config: ${each}, law: { execution_ms: [[1, 2]] } }`);
    const profile = parseProfile(`models: [${models.join(', ')}]`, 'mine.yaml');
    const { grpcUrl } = await emulatorForTest({ profile });
    const client = connectGrpc(grpcUrl);
    onTestFinished(() => client.close());
    for (const [name, backend] of [
      ['m', 'emulator'],
      ['n', 'onnxruntime'],
    ] as const) {
      const served = await client.modelConfig(name);
      expect(served.backend).toBe(backend);
      await client.load(name, { ...served, max_batch_size: 2 });
      expect(await client.modelConfig(name)).toMatchObject({ backend, max_batch_size: 2 });
    }
  });

  it('is refused with all that is wrong with it', () => {
    const text = `name: A B\nmodels: [{ config: ${config}, law: { execution_ms: [[1, 2]], cv: 3 }, network_ms: -1 }]`;
    expect(() => parseProfile(text, 'mine.yaml')).toThrowError(
      /name: must be .*; models\.0\.law\.cv: .*; models\.0\.network_ms: /,
    );
  });
});

describe('the profiles of the package', () => {
  it('include those that other rooms count on', () => {
    expect(profileNames()).toEqual(expect.arrayContaining(['demo', 'sleeper', 'oom', 'cliff', 'slow-precision']));
  });

  it.each(profileNames())('%s starts with every model ready, and takes its own config back', async (name) => {
    const profile = loadProfile(name);
    expect(profile.name).toBe(name);
    const { grpcUrl } = await emulatorForTest({ profile });
    const client = connectGrpc(grpcUrl);
    onTestFinished(() => client.close());
    expect(await client.ready()).toBe(true);
    for (const { config } of profile.models) {
      const served = await client.modelConfig(config.name);
      await client.load(config.name, served);
      expect(await client.modelConfig(config.name)).toEqual(served);
    }
  });
});

describe('a bad profile', () => {
  it.each([
    ['no YAML', 'name: [', /line 1/],
    ['an unknown key', sleeperText.replace('suggested_latency', 'sugested_latency'), /sugested_latency/],
    ['a batch size that does not rise', sleeperText.replace('- [8, ', '- [1, '), /models\.0\.law/],
    [
      'a model config that Triton would refuse',
      sleeperText.replace('max_batch_size: 8', 'max_batch_size: -8'),
      /models\.0\.config: .*max_batch_size/,
    ],
  ])('is refused with its place: %s', (_, text, words) => {
    expect(() => parseProfile(text, 'my.yaml')).toThrow(words);
    expect(() => parseProfile(text, 'my.yaml')).toThrow(expect.objectContaining({ code: 'PROFILE_INVALID' }));
  });

  it.each([
    ['an unknown model', { model_name: 'nothing' }, /ensembles\.0\.config: 'nothing' is not another model/],
    ['itself', { model_name: 'chain' }, /'chain' is not another model/],
    ['a tensor that nothing gives', { input_map: { IN: 'nowhere' } }, /ensembles\.0\.config: /],
  ])('is refused when an ensemble names %s', (_, change, words) => {
    const profile = everyKindProfile();
    const [step] = profile.ensembles[0]?.config.ensemble_scheduling.step ?? [];
    Object.assign(step as object, change);
    expect(() => parseProfile(JSON.stringify(profile), 'my.yaml')).toThrow(words);
  });

  it('is refused when there is none of that name or path', () => {
    expect(() => loadProfile('nothing')).toThrow(expect.objectContaining({ code: 'PROFILE_INVALID' }));
    expect(() => loadProfile('./nothing.yaml')).toThrow(expect.objectContaining({ code: 'PROFILE_INVALID' }));
  });
});

describe('an arm', () => {
  const model = loadProfile('slow-precision').models[0] as ModelProfile;
  const simulatorFor = (precision: string | null) => {
    const accelerators = precision ? [{ name: 'tensorrt', parameters: { precision_mode: precision } }] : [];
    const config: ModelConfig = {
      max_batch_size: 16,
      optimization: { execution_accelerators: { gpu_execution_accelerator: accelerators } },
    };
    return createModelSimulator({ ...model, law: { ...model.law, cv: 0 } }, config, seededRandom(1));
  };

  it('changes the law, the memory and the load time when the config chooses it', () => {
    const [plain, half] = [simulatorFor(null), simulatorFor('FP16')];
    expect(half.executionNs(16, 1) / plain.executionNs(16, 1)).toBeCloseTo(0.5, 3);
    expect(half.memoryMib(2) / plain.memoryMib(2)).toBeCloseTo(0.6, 6);
    expect(half.load.fullSeconds).toBeGreaterThan(plain.load.fullSeconds);
    expect(simulatorFor('FP32').executionNs(1, 1)).toBeGreaterThan(half.executionNs(1, 1));
  });
});
