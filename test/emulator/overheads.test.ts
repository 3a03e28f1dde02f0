import { expect, it, onTestFinished } from 'vitest';
import { realClock } from '../../src/base/clock.ts';
import { seededRandom } from '../../src/base/random.ts';
import { armsOf, physicsOf } from '../../src/emulator/profile-physics.ts';
import type { ModelProfile } from '../../src/emulator/profile-schema.ts';
import { connectGrpc } from '../../src/triton/connect.ts';
import type { ModelStatistics } from '../../src/triton/types.ts';
import { emulatorForTest, smallProfile } from '../support/emulator.ts';
import { fp32Input, grpcInferClient } from '../support/infer-clients.ts';

/** Sends so many requests at once; gives the milliseconds until each answer, rising, and the server's statistics. */
async function sendAtOnce(change: Parameters<typeof smallProfile>[0], count: number) {
  const { grpcUrl } = await emulatorForTest({ profile: smallProfile(change) });
  const control = connectGrpc(grpcUrl);
  const traffic = grpcInferClient(grpcUrl);
  onTestFinished(() => Promise.all([control.close(), traffic.close()]).then(() => undefined));
  const startNs = realClock.nowNs();
  const answered = await Promise.all(
    Array.from({ length: count }, async () => {
      expect((await traffic.infer('m', [fp32Input([1, 4])])).status).toBe(0);
      return (realClock.nowNs() - startNs) / 1e6;
    }),
  );
  const [statistics] = await control.statistics('m');
  return { answered: answered.sort((a, b) => a - b), statistics };
}

it('runs no more executions at once than the profile allows, whatever the number of instances', async () => {
  const config = { instance_group: [{ count: 2, kind: 'KIND_CPU' }], max_batch_size: 1 };
  const { answered, statistics } = await sendAtOnce({ a: 150, b: 0, config, law: { at_once: 1 } }, 2);
  expect(answered[1]).toBeGreaterThanOrEqual(300);
  expect((statistics as ModelStatistics).queue.ns).toBeGreaterThanOrEqual(140e6);
});

it('keeps an instance busy for its turnaround, which is in no statistic', async () => {
  const { answered, statistics } = await sendAtOnce({ a: 10, b: 0.1, law: { turnaround_ms: 300 } }, 2);
  expect(answered[1]).toBeGreaterThanOrEqual(10 + 300 + 10);
  const { queue, computeInfer } = statistics as ModelStatistics;
  expect(queue.ns).toBeGreaterThanOrEqual(300e6);
  expect(computeInfer.ns).toBeLessThan(queue.ns);
});

it('sends answers before their execution ends by the statistics, and keeps the instance until then', async () => {
  const { answered, statistics } = await sendAtOnce({ a: 400, b: 0.1, law: { answer_lead_ms: 390 } }, 2);
  const { computeInfer, success, queue } = statistics as ModelStatistics;
  expect(computeInfer.ns / computeInfer.count).toBeGreaterThanOrEqual(400e6);
  expect((answered[0] as number) * 1e6).toBeLessThan(success.ns / success.count);
  expect(queue.ns).toBeGreaterThanOrEqual(400e6);
  expect(answered[1]).toBeGreaterThanOrEqual(400 + 10);
});

it('brings answers later by the network, and starts the next execution before that', async () => {
  const { answered, statistics } = await sendAtOnce({ a: 5, b: 0.1, model: { network_ms: 400 } }, 2);
  const [first = 0] = answered;
  expect(first).toBeGreaterThanOrEqual(405);
  const { success } = statistics as ModelStatistics;
  expect(success.ns / success.count / 1e6).toBeLessThan(first / 2);
});

it('has arms that take the place of interference, refuse to load, and hold where nothing stands', async () => {
  const arms = [
    { name: 'alone', when: { 'parameters.threads.string_value': null }, interference: { per_instance: 1 } },
    { name: 'bad', when: { 'parameters.threads.string_value': '0' }, refuses: 'threads must be positive' },
  ];
  const profile = smallProfile({ a: 1, b: 0, model: { arms } });
  const [model] = profile.models as [ModelProfile];
  const withThreads = (count: string) => ({ parameters: { threads: { string_value: count } } });
  expect(armsOf(model, {}).map(({ name }) => name)).toEqual(['alone']);
  const random = seededRandom(1);
  expect(physicsOf(model, {}, random).executionNs(1, 2)).toBeCloseTo(2e6, 0);
  expect(physicsOf(model, withThreads('2'), random).executionNs(1, 2)).toBeCloseTo(1e6, 0);

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
