import { expect, it, onTestFinished } from 'vitest';
import { realClock } from '#base/clock.ts';
import { prepareInputs } from '#loadgen/inputs.ts';
import { openTransport } from '#loadgen/transports/open.ts';
import type { LevelOptions } from '#profiler/level-options.ts';
import { measureLevel } from '#profiler/measure-level.ts';
import type { Measurement } from '#profiler/measurement.ts';
import type { ProfileProgress } from '#profiler/progress.ts';
import { connectHttp } from '#triton/control/connect.ts';
import { emulatorForTest, smallProfile } from '../support/emulator.ts';

/** A request is given up long before the model has built its engine. */
const TIMEOUT_MS = 2_000;
const BUILD_MS = 7_000;

/** A model whose instances each build an engine for their first execution. */
async function openBuilder(instances: number) {
  const emulator = await emulatorForTest({
    profile: smallProfile({
      a: 20,
      config: { instance_group: [{ count: instances, kind: 'KIND_CPU' }] },
      model: { first_execution_ms: BUILD_MS },
    }),
  });
  const client = connectHttp(emulator.httpUrl, {});
  const transport = openTransport('http', { url: emulator.httpUrl, timeoutMs: TIMEOUT_MS });
  onTestFinished(async () => {
    await transport.close();
    await client.close();
  });
  const [metadata, config] = [await client.modelMetadata('m'), await client.modelConfig('m')];
  const phases: ProfileProgress['phase'][] = [];
  const measure = (count: number, more: Partial<LevelOptions>): Promise<Measurement> =>
    measureLevel({
      transport,
      requests: prepareInputs(metadata, config, { batch: 1, seed: 1, kind: 'random' }),
      level: { mode: 'concurrency', value: 4 },
      stats: client,
      clock: realClock,
      signal: new AbortController().signal,
      percentile: 99,
      instances: count,
      isFresh: true,
      windows: { minWindows: 2, maxWindows: 3, maxWarmUpMs: 500 },
      onProgress: ({ phase }) => phases.push(phase),
      ...more,
    });
  const setInstances = (count: number): Promise<void> =>
    client.load('m', { ...config, instance_group: [{ count, kind: 'KIND_CPU' }] });
  return { measure, setInstances, phases };
}

it('are awaited, told, and no part of the figures', { timeout: 240_000 }, async () => {
  const { measure, phases } = await openBuilder(2);
  const { failures, latencyMs, firstAnswersMs } = await measure(2, { firstAnswersMs: 60_000 });
  expect(failures).toEqual([]);
  expect(latencyMs.max).toBeLessThan(TIMEOUT_MS);
  expect(firstAnswersMs).toBeGreaterThan(0.9 * BUILD_MS);
  expect(firstAnswersMs).toBeLessThan(3 * BUILD_MS);
  expect(phases.slice(0, 4)).toEqual(['warm-up', 'first-answers', 'warm-up', 'window']);
});

it('are awaited of every instance, also where one that is ready answers all', { timeout: 240_000 }, async () => {
  const { measure, setInstances } = await openBuilder(1);
  const one = await measure(1, { firstAnswersMs: 60_000 });
  await setInstances(4);
  const four = await measure(4, { firstAnswersMs: 60_000 });
  expect(four.failures).toEqual([]);
  expect(four.throughput.value).toBeGreaterThan(2 * one.throughput.value);
});

it('that do not come within their time are an error that says how to allow more', { timeout: 240_000 }, async () => {
  const { measure } = await openBuilder(2);
  await expect(measure(2, { firstAnswersMs: 3_500 })).rejects.toMatchObject({
    code: 'SERVER_TIMEOUT',
    message: expect.stringContaining('answered none of its first requests within'),
    hint: expect.stringContaining('--first-request-timeout'),
  });
});

it('do not hold up a measurement whose time is up', { timeout: 240_000 }, async () => {
  const { measure } = await openBuilder(2);
  const untilNs = realClock.nowNs() + 2_500e6;
  expect((await measure(2, { firstAnswersMs: 60_000, untilNs })).throughput.value).toBe(0);
});
