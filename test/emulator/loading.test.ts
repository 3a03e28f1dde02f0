import { expect, it, onTestFinished } from 'vitest';
import type { Faults } from '#emulator/faults.ts';
import type { EmulatorProfile } from '#emulator/profile/schema.ts';
import type { ModelConfig } from '#triton/config/model-config.ts';
import { connectGrpc } from '#triton/control/connect.ts';
import type { TritonClient } from '#triton/types.ts';
import { emulatorForTest, smallProfile } from '../support/emulator.ts';
import { fp32Input, grpcInferClient, type InferAnswer } from '../support/infer-clients.ts';

interface Subject {
  readonly client: TritonClient;
  readonly config: ModelConfig;
  infer(shape?: readonly number[]): Promise<InferAnswer>;
  inferenceCount(): Promise<number>;
}

async function start(profile: EmulatorProfile = smallProfile(), faults: Faults = {}): Promise<Subject> {
  const { grpcUrl } = await emulatorForTest({ profile, faults });
  const client = connectGrpc(grpcUrl);
  const traffic = grpcInferClient(grpcUrl);
  onTestFinished(() => Promise.all([client.close(), traffic.close()]).then(() => undefined));
  return {
    client,
    config: await client.modelConfig('m'),
    infer: (shape = [1, 4]) => traffic.infer('m', [fp32Input(shape)]),
    inferenceCount: async () => (await client.statistics('m'))[0]?.inferenceCount ?? -1,
  };
}

const instances = (count: number): Partial<ModelConfig> => ({ instance_group: [{ count, kind: 'KIND_CPU' }] });

it('replaces the whole config by the one posted, defaults filled in', async () => {
  const { client, config, infer } = await start(smallProfile({ config: { dynamic_batching: {} } }));
  const { dynamic_batching: _, ...rest } = config;
  await client.load('m', { ...rest, max_batch_size: 2 });
  const now = await client.modelConfig('m');
  expect(now.dynamic_batching).toBeUndefined();
  expect(now.max_batch_size).toBe(2);
  expect((await infer([3, 4])).message).toContain("inference request batch-size must be <= 2 for 'm'");
});

it('keeps statistics when only instances change, and resets them otherwise', async () => {
  const { client, config, infer, inferenceCount } = await start();
  await infer([3, 4]);
  expect(await inferenceCount()).toBe(3);
  await client.load('m', { ...config, ...instances(3) });
  expect(await inferenceCount()).toBe(3);
  expect((await client.modelConfig('m')).instance_group).toMatchObject([{ count: 3 }]);
  await client.load('m', { ...config, ...instances(3), max_batch_size: 4 });
  expect(await inferenceCount()).toBe(0);
});

it('takes its own config back without a reload', async () => {
  const { client, config, infer, inferenceCount } = await start();
  await infer();
  await client.load('m', config);
  expect(await inferenceCount()).toBe(1);
  expect(await client.modelConfig('m')).toEqual(config);
});

it('does nothing at a load without config after an override', async () => {
  const { client, config } = await start();
  await client.load('m', { ...config, max_batch_size: 4 });
  await client.load('m');
  expect((await client.modelConfig('m')).max_batch_size).toBe(4);
});

it('serves the old version until the new one is ready', async () => {
  const { client, config, infer } = await start(
    smallProfile({ model: { load: { full_s: 0.8, add_s: 0, remove_s: 0 } } }),
  );
  let loaded = false;
  const loading = client.load('m', { ...config, max_batch_size: 2 }).then(() => {
    loaded = true;
  });
  const during = await infer([4, 4]);
  const state = (await client.index())[0]?.state;
  const shown = (await client.modelConfig('m')).max_batch_size;
  expect(loaded).toBe(false);
  expect([during.status, state, shown]).toEqual([0, 'READY', 8]);
  await loading;
  expect((await infer([4, 4])).status).not.toBe(0);
});

it('answers what the old version has queued after the new one serves', async () => {
  const { client, config, infer } = await start(smallProfile({ a: 60 }));
  const queued = Promise.all(Array.from({ length: 4 }, () => infer()));
  await expect.poll(() => client.live()).toBe(true);
  await client.load('m', { ...config, max_batch_size: 4 });
  expect((await queued).map((answer) => answer.status)).toEqual([0, 0, 0, 0]);
});

it('loads one model one load at a time, the last one wins', async () => {
  const { client, config } = await start();
  await Promise.all([2, 3, 4].map((max) => client.load('m', { ...config, max_batch_size: max })));
  expect((await client.modelConfig('m')).max_batch_size).toBe(4);
});

it.each([
  ['an unknown field', { unknown_field: 1 }],
  ['an enum that is none', { instance_group: [{ kind: 'KIND_TPU' }] }],
  ['a value of the wrong type', { max_batch_size: 'many' }],
  ['a negative max batch size', { max_batch_size: -1 }],
  ['the name of another model', { name: 'n' }],
  ['a preferred batch size above the maximum', { dynamic_batching: { preferred_batch_size: [16] } }],
  ['two schedulers', { dynamic_batching: {}, sequence_batching: { direct: {} } }],
])('gives no reason for %s, and goes on serving', async (_, change) => {
  const { client, config, infer } = await start();
  await expect(client.load('m', { ...config, ...(change as object) })).rejects.toMatchObject({
    code: 'LOAD_REFUSED',
    kind: 'invalid-config',
    serverMessage: "failed to load 'm', failed to poll from model repository",
  });
  expect(await client.modelConfig('m')).toEqual(config);
  expect((await infer()).status).toBe(0);
});

it('says why instances cannot start', async () => {
  const { client, config } = await start();
  await expect(client.load('m', { ...config, instance_group: [{ kind: 'KIND_GPU' }] })).rejects.toMatchObject({
    kind: 'no-gpu',
    serverMessage: 'instance group m_0 of model m has kind KIND_GPU but no GPUs are available',
  });
  await expect(client.load('m', { ...config, backend: 'tensorrt' })).rejects.toMatchObject({
    kind: 'init-failed',
    serverMessage: expect.stringContaining('unable to find backend library'),
  });
});

it('runs out of memory at the instance that does not fit, and keeps what it has', async () => {
  const memory = { model_mib: 100, instance_mib: 280, sample_mib: 2 };
  const { client, config, infer } = await start(smallProfile({ model: { memory } }));
  await client.load('m', { ...config, ...instances(3) });
  const fourth = { ...config, ...instances(4) };
  await expect(client.load('m', fourth)).rejects.toMatchObject({ code: 'LOAD_REFUSED', kind: 'out-of-memory' });
  await expect(client.load('m', { ...fourth, max_batch_size: 4 })).rejects.toMatchObject({ kind: 'out-of-memory' });
  expect((await client.modelConfig('m')).instance_group).toMatchObject([{ count: 3 }]);
  expect((await infer()).status).toBe(0);
  const [entry] = await client.index();
  expect(entry).toMatchObject({ state: 'READY', reason: expect.stringContaining('out of memory') });
  await client.load('m', { ...config, ...instances(2) });
  expect((await client.index())[0]?.reason).toBe('');
});

it('refuses more instances than the profile allows', async () => {
  const { client, config } = await start(smallProfile({ model: { max_instances: 2 } }));
  await client.load('m', { ...config, ...instances(2) });
  await expect(client.load('m', { ...config, ...instances(3) })).rejects.toMatchObject({ kind: 'init-failed' });
});

it('fails, delays and spoils loads on request', async () => {
  const faults: Faults = { refuseLoad: ({ config }) => (config.max_batch_size === 4 ? 'the plan does not fit' : null) };
  const { client, config, infer } = await start(smallProfile(), faults);
  await expect(client.load('m', { ...config, max_batch_size: 4 })).rejects.toMatchObject({
    serverMessage: "load failed for model 'm': version 1 is at UNAVAILABLE state: Internal: the plan does not fit;\n",
  });
  expect((await infer()).status).toBe(0);

  faults.delayLoadMs = () => 10_000;
  const slow = client.load('m', { ...config, max_batch_size: 5 }, { timeoutMs: 100 });
  await expect(slow).rejects.toMatchObject({ code: 'SERVER_TIMEOUT' });
});

it('can stay unready after a load that succeeded, until the next load', async () => {
  const faults: Faults = { neverReady: () => true };
  const { client, config, infer } = await start(smallProfile(), faults);
  await client.load('m', { ...config, max_batch_size: 4 });
  expect(await client.modelReady('m')).toBe(false);
  expect(await client.ready()).toBe(false);
  expect((await infer()).message).toBe("Request for unknown model: 'm' has no available versions");
  delete faults.neverReady;
  await client.load('m', config);
  expect(await client.modelReady('m')).toBe(true);
});

it('can show another config than the one that serves', async () => {
  const { client, config } = await start(smallProfile(), { readBack: (served) => ({ ...served, max_batch_size: 1 }) });
  expect(config.max_batch_size).toBe(1);
  expect((await client.modelMetadata('m')).name).toBe('m');
});
