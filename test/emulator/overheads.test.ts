import { expect, it, onTestFinished } from 'vitest';
import { seededRandom } from '#base/random.ts';
import { NS_PER_MS } from '#base/units.ts';
import type { ModelProfile } from '#emulator/profile/schema.ts';
import { createModelSimulator, listArms } from '#emulator/profile/simulators.ts';
import { connectGrpc } from '#triton/control/connect.ts';
import { serviceMethod } from '#triton/wire/proto.ts';
import { emulatorForTest, smallProfile } from '../support/emulator.ts';
import { fp32Input, inferMessage } from '../support/infer-clients.ts';
import { openVirtualEmulator, type VirtualEmulator } from '../support/virtual-emulator.ts';

/**
 * Sends so many requests at once, in virtual time; gives the milliseconds until each answer, and
 * the server's statistics.
 */
async function sendAtOnce(change: Parameters<typeof smallProfile>[0], count: number) {
  const emulator = openVirtualEmulator({ profile: smallProfile(change) });
  onTestFinished(() => emulator.close());
  const request = inferMessage('m', [fp32Input([1, 4])]);
  const answered = await Promise.all(
    Array.from({ length: count }, async () => {
      expect(await emulator.grpc('ModelInfer', [request])).toMatchObject({ failure: null });
      return emulator.clock.nowNs() / NS_PER_MS;
    }),
  );
  const [{ inference_stats: of }] = (await statisticsOf(emulator)) as [
    { inference_stats: Record<Part, { ns: number; count: number }> },
  ];
  const meanMs = (part: Part): number => of[part].ns / of[part].count / NS_PER_MS;
  return { answered, meanMs };
}

type Part = 'success' | 'queue' | 'compute_infer';

async function statisticsOf(emulator: VirtualEmulator): Promise<readonly unknown[]> {
  const { requestType, responseType } = serviceMethod('ModelStatistics');
  const [message] = (await emulator.grpc('ModelStatistics', [requestType.encode({ name: 'm' }).finish()])).messages;
  return responseType.toObject(responseType.decode(message as Uint8Array), { longs: Number }).model_stats;
}

it('runs no more executions at once than the profile allows, whatever the number of instances', async () => {
  const config = { instance_group: [{ count: 2, kind: 'KIND_CPU' }], max_batch_size: 1 };
  const { answered, meanMs } = await sendAtOnce({ a: 150, b: 0, config, law: { at_once: 1 } }, 2);
  expect(answered).toEqual([150, 300]);
  expect(meanMs('queue')).toBeCloseTo(150 / 2, 6);
});

it('keeps an instance busy for its turnaround, which is in no statistic', async () => {
  const { answered, meanMs } = await sendAtOnce({ a: 10, b: 0, law: { turnaround_ms: 300 } }, 2);
  expect(answered).toEqual([10, 10 + 300 + 10]);
  expect(meanMs('queue')).toBeCloseTo(310 / 2, 6);
  expect(meanMs('compute_infer')).toBeCloseTo(10, 6);
});

it('sends answers before their execution ends by the statistics, and keeps the instance until then', async () => {
  const { answered, meanMs } = await sendAtOnce({ a: 400, b: 0, law: { answer_lead_ms: 390 } }, 2);
  expect(answered).toEqual([10, 400 + 10]);
  expect(meanMs('compute_infer')).toBeCloseTo(400, 6);
  expect(meanMs('queue')).toBeCloseTo(400 / 2, 6);
});

it('brings answers later by the network, and starts the next execution before that', async () => {
  const { answered, meanMs } = await sendAtOnce({ a: 5, b: 0, model: { network_ms: 400 } }, 2);
  expect(answered).toEqual([405, 410]);
  expect(meanMs('success')).toBeCloseTo((5 + 10) / 2, 6);
});

it('has arms that take the place of interference, refuse to load, and hold where nothing stands', async () => {
  const arms = [
    { name: 'alone', when: { 'parameters.threads.string_value': null }, interference: { per_instance: 1 } },
    { name: 'bad', when: { 'parameters.threads.string_value': '0' }, refuses: 'threads must be positive' },
  ];
  const profile = smallProfile({ a: 1, b: 0, model: { arms } });
  const [model] = profile.models as [ModelProfile];
  const withThreads = (count: string) => ({ parameters: { threads: { string_value: count } } });
  expect(listArms(model, {}).map(({ name }) => name)).toEqual(['alone']);
  const random = seededRandom(1);
  expect(createModelSimulator(model, {}, random).executionNs(1, 2)).toBeCloseTo(2e6, 0);
  expect(createModelSimulator(model, withThreads('2'), random).executionNs(1, 2)).toBeCloseTo(1e6, 0);

  const { grpcUrl } = await emulatorForTest({ profile });
  const client = connectGrpc(grpcUrl);
  onTestFinished(() => client.close());
  const config = await client.modelConfig('m');
  await expect(client.load('m', { ...config, ...withThreads('0') })).rejects.toMatchObject({
    code: 'LOAD_REFUSED',
    serverMessage: expect.stringContaining('threads must be positive'),
  });
  await client.load('m', { ...config, ...withThreads('2') });
});
