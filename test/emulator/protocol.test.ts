import { request } from 'undici';
import { describe, expect, it, onTestFinished } from 'vitest';
import type { Emulator } from '#emulator/start-emulator.ts';
import { findEmulatedProfile } from '#emulator/wire/server-identity.ts';
import { connectGrpc, connectHttp } from '#triton/control/connect.ts';
import type { TritonClient } from '#triton/types.ts';
import { emulatorForTest, smallProfile } from '../support/emulator.ts';

const protocols = [
  { protocol: 'grpc', connect: (emulator: Emulator) => connectGrpc(emulator.grpcUrl) },
  { protocol: 'http', connect: (emulator: Emulator) => connectHttp(emulator.httpUrl) },
] as const;

describe.each(protocols)('over $protocol', ({ connect }) => {
  async function clientOf(options: Parameters<typeof emulatorForTest>[0] = {}): Promise<TritonClient> {
    const client = connect(await emulatorForTest({ profile: smallProfile(), ...options }));
    onTestFinished(() => client.close());
    return client;
  }

  it('is live and ready, and says that it is no Triton', async () => {
    const client = await clientOf();
    expect(await client.live()).toBe(true);
    expect(await client.ready()).toBe(true);
    const metadata = await client.serverMetadata();
    expect(metadata.name).toBe('tritune-emulator');
    expect(findEmulatedProfile(metadata)).toBe('small');
    expect(findEmulatedProfile({ ...metadata, name: 'triton' })).toBeNull();
  });

  it('tells the metadata of a model, with its batch dimension', async () => {
    const client = await clientOf();
    expect(await client.modelMetadata('m')).toEqual({
      name: 'm',
      versions: ['1'],
      platform: 'python',
      inputs: [{ name: 'IN', datatype: 'FP32', shape: [-1, 4] }],
      outputs: [{ name: 'OUT', datatype: 'FP32', shape: [-1, 4] }],
    });
  });

  it('fills in the defaults of a config, as Triton does', async () => {
    const client = await clientOf({ profile: smallProfile({ config: { dynamic_batching: {} } }) });
    expect(await client.modelConfig('m')).toMatchObject({
      version_policy: { latest: { num_versions: 1 } },
      dynamic_batching: { preferred_batch_size: [8] },
      instance_group: [{ name: 'm_0', count: 1, kind: 'KIND_CPU' }],
      optimization: { input_pinned_memory: { enable: true }, output_pinned_memory: { enable: true } },
    });
  });

  it('has no statistics before the first request', async () => {
    const client = await clientOf();
    const [statistics] = await client.statistics('m');
    expect(statistics).toMatchObject({ name: 'm', version: '1', inferenceCount: 0, executionCount: 0, batchStats: [] });
  });

  it('knows no model that the profile does not have', async () => {
    const client = await clientOf();
    expect(await client.modelReady('other')).toBe(false);
    await expect(client.modelMetadata('other')).rejects.toMatchObject({ code: 'MODEL_UNKNOWN' });
    await expect(client.modelConfig('other')).rejects.toMatchObject({ code: 'MODEL_UNKNOWN' });
    await expect(client.statistics('other')).rejects.toMatchObject({ code: 'MODEL_UNKNOWN' });
    await expect(client.load('other')).rejects.toMatchObject({ code: 'MODEL_UNKNOWN' });
    await client.unload('other');
  });

  it('lists a model that was never loaded, and loads it', async () => {
    const client = await clientOf({ loadAtStart: [] });
    expect(await client.index()).toEqual([{ name: 'm', version: '', state: '', reason: '' }]);
    expect(await client.ready()).toBe(true);
    await client.load('m');
    expect(await client.index()).toEqual([{ name: 'm', version: '1', state: 'READY', reason: '' }]);
    expect(await client.modelReady('m')).toBe(true);
  });

  it('unloads a model and loads it again as it was stored', async () => {
    const client = await clientOf();
    const stored = await client.modelConfig('m');
    await client.load('m', { ...stored, max_batch_size: 2 });
    await client.unload('m');
    await expect
      .poll(() => client.index())
      .toEqual([{ name: 'm', version: '1', state: 'UNAVAILABLE', reason: 'unloaded' }]);
    expect(await client.modelReady('m')).toBe(false);
    expect(await client.ready()).toBe(true);
    await expect(client.modelConfig('m')).rejects.toMatchObject({ code: 'MODEL_UNREADY' });
    await client.load('m');
    expect(await client.modelConfig('m')).toEqual(stored);
  });

  it.each(['none', 'poll'] as const)('refuses control in mode %s', async (controlMode) => {
    const client = await clientOf({ controlMode });
    await expect(client.load('m')).rejects.toMatchObject({ code: 'CONTROL_DISABLED' });
    await expect(client.unload('m')).rejects.toMatchObject({ code: 'CONTROL_DISABLED' });
    expect(await client.index()).toHaveLength(1);
  });
});

describe('over HTTP alone', () => {
  async function post(path: string, body: string): Promise<{ status: number; text: string }> {
    const { httpUrl } = await emulatorForTest({ profile: smallProfile() });
    const response = await request(`http://${httpUrl}${path}`, { method: 'POST', body });
    return { status: response.statusCode, text: await response.body.text() };
  }

  it('takes a config as a JSON string only', async () => {
    const answer = await post('/v2/repository/models/m/load', '{"parameters":{"config":{"max_batch_size":4}}}');
    expect(answer).toEqual({ status: 500, text: '{"error":"attempt to access JSON non-string as string"}' });
  });

  it('refuses an unknown load parameter and a body that is no JSON', async () => {
    const unknown = await post('/v2/repository/models/m/load', '{"parameters":{"conf":"{}"}}');
    expect(unknown.status).toBe(500);
    expect(unknown.text).toContain('unexpected error on creating Triton parameter');
    expect((await post('/v2/repository/models/m/load', '{')).status).toBe(500);
  });

  it('answers 404 to a path that it does not have', async () => {
    expect((await post('/v2/nothing', '')).status).toBe(404);
  });
});
