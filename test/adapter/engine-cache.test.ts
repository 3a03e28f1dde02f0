import { describe, expect, it } from 'vitest';
import { createControl } from '#adapter/triton/control.ts';
import type { KeptEngines } from '#adapter/triton/control-options.ts';
import { realClock } from '#base/clock.ts';
import type { JsonObject } from '#base/json.ts';
import type { Faults } from '#emulator/faults.ts';
import { readEngineCache, withEngineCache, withoutEngineCache } from '#triton/config/engine-cache.ts';
import type { ModelConfig } from '#triton/config/model-config.ts';
import { connectGrpc, connectHttp } from '#triton/control/connect.ts';
import { toCandidate } from '../study/builders.ts';
import { emulatorForTest, smallProfile } from '../support/emulator.ts';

const SECRET = 'b6f1';
const DIRECTORY = /^\/tmp\/tritune-engines-[0-9a-f]{12}$/;

const accelerated = (parameters?: JsonObject, more: ModelConfig = {}): ModelConfig => ({
  name: 'm',
  backend: 'onnxruntime',
  ...more,
  optimization: {
    execution_accelerators: {
      gpu_execution_accelerator: [{ name: 'tensorrt', ...(parameters && { parameters }) }],
      cpu_execution_accelerator: [{ name: 'openvino' }],
    },
  },
});

describe("a cache of TensorRT's engines", () => {
  it('comes back from a config as it went in, and leaves nothing behind', () => {
    for (const each of [accelerated(), accelerated({ precision_mode: 'FP16' })]) {
      const cached = withEngineCache(each, SECRET);
      expect(readEngineCache(cached)).toMatch(DIRECTORY);
      expect(readEngineCache(each)).toBeNull();
      expect(withoutEngineCache(cached)).toEqual(each);
    }
  });

  it.each([
    ['another backend', { ...accelerated(), backend: 'tensorflow' }],
    ['no accelerator', { name: 'm', backend: 'onnxruntime' }],
    ['a cache of its own', accelerated({ trt_engine_cache_enable: 'true', trt_engine_cache_path: '/engines' })],
    ['a place of its own', accelerated({ trt_engine_cache_path: '/engines' })],
    ['a calibration table, which lies there', accelerated({ int8_calibration_table_name: 'table.flatbuffers' })],
    ['a cache that is off', accelerated({ trt_engine_cache_enable: '0' })],
  ])('is not added to a config with %s, nor taken from it', (_, config) => {
    expect(withEngineCache(config, SECRET)).toBe(config);
    expect(withoutEngineCache(config)).toBe(config);
  });

  it('has a directory for each secret, model, version and file, whose engines ONNX Runtime could confuse', () => {
    const others: readonly ModelConfig[] = [
      accelerated(),
      accelerated({}, { name: 'n' }),
      accelerated({}, { default_model_filename: 'other.onnx' }),
      accelerated({}, { version_policy: { specific: { versions: ['2'] } } }),
    ];
    const directories = [
      ...others.map((each) => withEngineCache(each, SECRET)),
      withEngineCache(accelerated(), 'other'),
    ];
    expect(new Set(directories.map(readEngineCache)).size).toBe(5);
    const larger = withEngineCache(accelerated({ precision_mode: 'FP16' }, { max_batch_size: 64 }), SECRET);
    expect(readEngineCache(larger)).toBe(readEngineCache(withEngineCache(accelerated(), SECRET)));
  });
});

/** A model under control, and where each load that the server saw keeps its engines. */
async function controlled(engines: Partial<KeptEngines> = {}, refuseLoad?: Faults['refuseLoad']) {
  const loads: (string | null)[] = [];
  const faults: Faults = {
    delayLoadMs: ({ config }) => {
      loads.push(readEngineCache(config));
      return 0;
    },
    ...(refuseLoad && { refuseLoad }),
  };
  const { grpcUrl, httpUrl } = await emulatorForTest({
    profile: smallProfile({ config: { backend: 'onnxruntime' } }),
    faults,
  });
  const client = connectGrpc(grpcUrl);
  const original = await client.modelConfig('m');
  const options = { clock: realClock, restore: 'config', loadTimeoutMs: 5000, settleTimeoutMs: 5000 } as const;
  const control = createControl(client, [{ model: 'm', config: original, wasLoaded: true }], {
    ...options,
    engines: { secret: SECRET, ...engines },
  });
  const apply = (change: ModelConfig) =>
    control.apply(toCandidate({ ...original, ...change }), new AbortController().signal);
  return { loads, clients: [client, connectHttp(httpUrl)], original, control, apply };
}

describe('a study keeps the engines of its loads', () => {
  const { optimization } = accelerated({ precision_mode: 'FP16' });
  const fp16 = { optimization } as ModelConfig;

  it('on the server only, and says where they are left', async () => {
    const { loads, clients, original, control, apply } = await controlled();
    await apply({ max_batch_size: 4 });
    await apply({ ...fp16, max_batch_size: 4 });
    for (const client of clients)
      expect((await client.modelConfig('m')).optimization?.execution_accelerators).toEqual(
        optimization?.execution_accelerators,
      );
    await apply({ ...fp16, max_batch_size: 4, instance_group: [{ count: 2, kind: 'KIND_CPU' }] });
    expect(loads).toEqual([null, expect.stringMatching(DIRECTORY), loads[1]]);
    const { verified, detail } = await control.restore();
    expect(verified).toBe(true);
    expect(detail).toContain(`TensorRT's engines are left in ${loads[1]} of the server's machine`);
    expect(await clients[0]?.modelConfig('m')).toEqual(original);
  });

  it('and removes those on its own machine', async () => {
    const removed: string[] = [];
    const remove = async (directory: string): Promise<void> => void removed.push(directory);
    const { loads, control, apply } = await controlled({ remove });
    await apply(fp16);
    expect((await control.restore()).detail).toBe("'m' has its original config again");
    expect(removed).toEqual([loads[0]]);
  });

  it('or says where they are, if it cannot', async () => {
    const remove = async (): Promise<void> => {
      throw new Error('EACCES');
    };
    const { loads, control, apply } = await controlled({ remove });
    await apply(fp16);
    const { verified, detail } = await control.restore();
    expect(verified).toBe(true);
    expect(detail).toContain(`left in ${loads[0]} of`);
  });

  it('and never takes engines of the user for its own', async () => {
    const removed: string[] = [];
    const { loads, control, apply } = await controlled({ remove: async (directory) => void removed.push(directory) });
    await apply(
      accelerated({ trt_engine_cache_enable: '1', trt_engine_cache_path: '/engines' }, { max_batch_size: 4 }),
    );
    expect(loads).toEqual(['/engines']);
    expect((await control.restore()).detail).toBe("'m' has its original config again");
    expect(removed).toEqual([]);
  });

  it('but does without where the model does not load with them', async () => {
    const { loads, control, apply } = await controlled({}, ({ config }) =>
      readEngineCache(config) === null ? null : 'failed to create the directory',
    );
    await apply(fp16);
    await apply({ ...fp16, max_batch_size: 4 });
    expect(loads).toEqual([expect.stringMatching(DIRECTORY), null, null]);
    expect(await control.restore()).toMatchObject({ verified: true, detail: "'m' has its original config again" });
  });
});
