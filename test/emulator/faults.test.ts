import { createConnection } from 'node:net';
import { describe, expect, it, onTestFinished } from 'vitest';
import { seededRandom } from '#base/random.ts';
import type { Faults } from '#emulator/faults.ts';
import type { EmulatorProfile } from '#emulator/profile/schema.ts';
import { createModelSimulator } from '#emulator/profile/simulators.ts';
import { connectGrpc } from '#triton/control/connect.ts';
import { emulatorForTest, smallProfile } from '../support/emulator.ts';
import { fp32Input, grpcInferClient, httpInferClient } from '../support/infer-clients.ts';

const withFaults = (faults: object): EmulatorProfile => smallProfile({ model: { faults } });

async function start(profile: EmulatorProfile, protocol: 'grpc' | 'http' = 'grpc', faults: Faults = {}) {
  const emulator = await emulatorForTest({ profile, faults });
  const client = protocol === 'grpc' ? grpcInferClient(emulator.grpcUrl) : httpInferClient(emulator.httpUrl);
  const control = connectGrpc(emulator.grpcUrl);
  onTestFinished(() => Promise.all([client.close(), control.close()]).then(() => undefined));
  const infer = async (): Promise<boolean> => [0, 200].includes((await client.infer('m', [fp32Input([1, 4])])).status);
  return { emulator, control, infer, send: (batch = 1) => client.infer('m', [fp32Input([batch, 4])]) };
}

describe('loads that a profile makes fail', () => {
  it('strike after so many, so many times, and only where their config says', async () => {
    const refuse = { what: 'refuse', when: { max_batch_size: 4 }, after_loads: 1, times: 1, message: 'no engine' };
    const { control, infer } = await start(withFaults({ load: [refuse] }));
    const config = await control.modelConfig('m');
    const load = (max: number) => control.load('m', { ...config, max_batch_size: max });
    await load(4);
    await load(2);
    await expect(load(4)).rejects.toMatchObject({
      kind: 'init-failed',
      serverMessage: expect.stringContaining('no engine'),
    });
    expect((await control.modelConfig('m')).max_batch_size).toBe(2);
    expect(await infer()).toBe(true);
    await load(4);
  });

  it('run out of memory, hang, and end unready', async () => {
    const at = (max: number, what: string) => ({ what, when: { max_batch_size: max } });
    const faults = { load: [at(1, 'out-of-memory'), at(2, 'hang'), at(3, 'never-ready')] };
    const { control } = await start(withFaults(faults));
    const config = await control.modelConfig('m');
    const load = (max: number, timeoutMs = 5000) =>
      control.load('m', { ...config, max_batch_size: max }, { timeoutMs });
    await expect(load(1)).rejects.toMatchObject({ kind: 'out-of-memory' });
    await load(3);
    expect(await control.modelReady('m')).toBe(false);
    await expect(load(2, 150)).rejects.toMatchObject({ code: 'SERVER_TIMEOUT' });
  });

  it('make another config serve than the one sent', async () => {
    const change = { max_batch_size: 2, 'instance_group.count': 3, 'parameters.way.string_value': 'theirs' };
    const { control, send } = await start(withFaults({ load: [{ what: 'other-config', change, times: 1 }] }));
    const config = await control.modelConfig('m');
    await control.load('m', { ...config, max_batch_size: 4 });
    expect(await control.modelConfig('m')).toMatchObject({
      max_batch_size: 2,
      instance_group: [{ count: 3 }],
      parameters: { way: { string_value: 'theirs' } },
    });
    expect((await send(3)).status).toBe(3);
    await control.load('m', { ...config, max_batch_size: 4, parameters: {} });
    expect((await control.modelConfig('m')).max_batch_size).toBe(4);
  });

  it('take the whole server down in the middle', async () => {
    const { control, emulator, infer } = await start(withFaults({ load: [{ what: 'crash' }] }));
    const config = await control.modelConfig('m');
    await expect(control.load('m', { ...config, max_batch_size: 4 })).rejects.toMatchObject({
      code: 'SERVER_UNREACHABLE',
    });
    await emulator.crashed;
    expect(await infer()).toBe(false);
  });
});

describe.each(['grpc', 'http'] as const)('requests over %s that a profile makes fail', (protocol) => {
  it.each(['fail', 'close', 'half-close', 'reset', 'garbage', 'reset-stream', 'go-away'])(
    'strike after so many and then no more: %s',
    async (what) => {
      const { infer } = await start(withFaults({ infer: [{ what, after_requests: 2, times: 1 }] }), protocol);
      expect([await infer(), await infer(), await infer()]).toEqual([true, true, false]);
      await expect.poll(infer).toBe(true);
    },
  );

  it('tell the status and the words', async () => {
    const fault = { what: 'fail', status: 'UNAVAILABLE', message: 'Exceeds maximum queue size' };
    const { send } = await start(withFaults({ infer: [fault] }), protocol);
    expect(await send()).toMatchObject({ status: protocol === 'grpc' ? 14 : 503, message: fault.message });
  });

  it('are turned away as by what stands in front of a server', async () => {
    const fault = { what: 'fail', status: 'RESOURCE_EXHAUSTED', message: 'too many requests' };
    const { send } = await start(withFaults({ infer: [fault] }), protocol);
    expect(await send()).toMatchObject({ status: protocol === 'grpc' ? 8 : 429, message: fault.message });
  });

  it('are looked at late', async () => {
    const { send } = await start(withFaults({ infer: [{ what: 'delay', delay_ms: 150, times: 1 }] }), protocol);
    const startMs = performance.now();
    await send();
    expect(performance.now() - startMs).toBeGreaterThan(149);
  });

  it('come when somebody unloads the model, or loads it as it was', async () => {
    const faults = [
      { what: 'reload', after_requests: 1, times: 1 },
      { what: 'unload', after_requests: 1 },
    ];
    const { control, infer } = await start(withFaults({ infer: faults }), protocol);
    await control.load('m', { ...(await control.modelConfig('m')), max_batch_size: 4 });
    expect(await infer()).toBe(true);
    expect(await infer()).toBe(true);
    await expect.poll(async () => (await control.modelConfig('m')).max_batch_size).toBe(8);
    expect(await infer()).toBe(false);
    await expect(control.modelConfig('m')).rejects.toMatchObject({ code: 'MODEL_UNREADY' });
  });

  it('come when somebody deletes the model from the repository', async () => {
    const { control, infer } = await start(withFaults({ infer: [{ what: 'remove', times: 1 }] }), protocol);
    const config = await control.modelConfig('m');
    expect(await infer()).toBe(true);
    expect(await control.index()).toEqual([]);
    for (const each of [undefined, { ...config, max_batch_size: 4 }])
      await expect(control.load('m', each)).rejects.toMatchObject({ code: 'MODEL_UNKNOWN' });
    expect([await control.modelConfig('m'), await infer()]).toEqual([config, true]);
    await control.unload('m');
    await expect(control.modelConfig('m')).rejects.toMatchObject({ code: 'MODEL_UNKNOWN' });
  });

  it('hang while the others are answered', async () => {
    const { infer } = await start(withFaults({ infer: [{ what: 'hang', times: 1 }] }), protocol);
    let hangs = true;
    void infer().then(() => {
      hangs = false;
    });
    expect(await infer()).toBe(true);
    expect(hangs).toBe(true);
  });

  it('take the whole server down', async () => {
    const { emulator, infer } = await start(withFaults({ infer: [{ what: 'crash', after_requests: 1 }] }), protocol);
    expect(await infer()).toBe(true);
    expect(await infer()).toBe(false);
    await emulator.crashed;
    const port = Number(emulator.httpUrl.split(':')[1]);
    const refused = new Promise((resolve) => createConnection(port, '127.0.0.1').once('error', resolve));
    expect(await refused).toMatchObject({ code: 'ECONNREFUSED' });
  });

  it('are a share of them', async () => {
    const { infer } = await start(withFaults({ infer: [{ what: 'fail', share: 0.5 }] }), protocol);
    const answers = await Promise.all(Array.from({ length: 200 }, infer));
    const failed = answers.filter((ok) => !ok).length;
    expect(failed).toBeGreaterThan(60);
    expect(failed).toBeLessThan(140);
  });
});

it('forgets its statistics, or does not tell them', async () => {
  const faults = [
    { what: 'forget', after_reads: 1, times: 1 },
    { what: 'fail', after_reads: 2 },
  ];
  const { control, infer } = await start(withFaults({ statistics: faults }));
  for (let count = 0; count < 3; count++) expect(await infer()).toBe(true);
  expect((await control.statistics('m'))[0]).toMatchObject({ success: { count: 3 }, executionCount: 3 });
  expect((await control.statistics('m'))[0]).toMatchObject({
    success: { count: 0 },
    executionCount: 0,
    batchStats: [],
  });
  expect((await control.statistics('m'))[0]).toMatchObject({ success: { count: 0 } });
  await expect(control.statistics('m')).rejects.toMatchObject({ code: 'SERVER_FAILED' });
});

it.each(['missing', 'malformed', 'hang'] as const)('has a metrics page that is none: %s', async (metrics) => {
  const { emulator } = await start(smallProfile({ profile: { faults: { metrics } } }));
  const signal = AbortSignal.timeout(300);
  const page = fetch(emulator.metricsUrl, { signal }).then(async (reply) => [reply.status, await reply.text()]);
  if (metrics === 'hang') await expect(page).rejects.toThrow(/timeout|aborted/);
  else expect(await page).toEqual(metrics === 'missing' ? [404, ''] : [200, expect.stringContaining('<html>')]);
});

it('drifts with time, and stays where it ends', () => {
  const executionNsAt = (minutes: number, drift: object): number => {
    const [model] = smallProfile({ a: 1, b: 1, model: { drift } }).models;
    if (!model) throw new Error('no model');
    return createModelSimulator(model, {}, seededRandom(1), () => minutes * 60e9).executionNs(1, 1);
  };
  const slower = { per_minute: 0.1, to: 1.5 };
  expect([0, 1, 5, 60].map((minutes) => executionNsAt(minutes, slower))).toEqual([2e6, 2.2e6, 3e6, 3e6]);
  expect(executionNsAt(60, { per_minute: -0.1, to: 0.8 })).toBe(1.6e6);
});

it('is slow the first time that it executes a batch size', async () => {
  const profile = smallProfile({ a: 0.5, b: 0.1, model: { first_execution_of_size_ms: 60 } });
  const { control, send } = await start(profile);
  const computeNs = async (batch: number): Promise<number> => {
    const before = (await control.statistics('m'))[0]?.computeInfer.ns ?? 0;
    await send(batch);
    return ((await control.statistics('m'))[0]?.computeInfer.ns ?? 0) - before;
  };
  for (const batch of [1, 3]) {
    expect(await computeNs(batch)).toBeGreaterThan(60e6);
    expect(Math.min(await computeNs(batch), await computeNs(batch), await computeNs(batch))).toBeLessThan(30e6);
  }
});
