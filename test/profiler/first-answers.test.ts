import { expect, it, onTestFinished } from 'vitest';
import { realClock } from '../../src/base/clock.ts';
import { prepareInputs } from '../../src/loadgen/inputs.ts';
import { openTransport } from '../../src/loadgen/transports/open.ts';
import type { LevelOptions } from '../../src/profiler/level-options.ts';
import { measureLevel } from '../../src/profiler/measure-level.ts';
import type { ProfileProgress } from '../../src/profiler/progress.ts';
import { connectHttp } from '../../src/triton/control/connect.ts';
import { emulatorForTest, smallProfile } from '../support/emulator.ts';

/** A request is given up long before the model has built its engine. */
const TIMEOUT_MS = 1_000;
const BUILD_MS = 7_000;

/** Measures a model of two instances that each build an engine for their first execution. */
async function measureAfterLoad(more: Partial<LevelOptions>) {
  const emulator = await emulatorForTest({
    profile: smallProfile({
      a: 4,
      config: { instance_group: [{ count: 2, kind: 'KIND_CPU' }] },
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
  const measurement = measureLevel({
    transport,
    requests: prepareInputs(metadata, config, { batch: 1, seed: 1, kind: 'random' }),
    level: { mode: 'concurrency', value: 2 },
    stats: client,
    clock: realClock,
    signal: new AbortController().signal,
    percentile: 99,
    instances: 2,
    isFresh: true,
    windows: { minWindows: 2, maxWindows: 3, maxWarmUpMs: 500 },
    onProgress: ({ phase }) => phases.push(phase),
    ...more,
  });
  return { measurement, phases };
}

it('are awaited on every instance, told, and no part of the figures', async () => {
  const { measurement, phases } = await measureAfterLoad({ firstAnswersMs: 60_000 });
  const { failures, latencyMs, firstAnswersMs } = await measurement;
  expect(failures).toEqual([]);
  expect(latencyMs.max).toBeLessThan(TIMEOUT_MS);
  expect(firstAnswersMs).toBeGreaterThan(0.9 * BUILD_MS);
  expect(firstAnswersMs).toBeLessThan(3 * BUILD_MS);
  expect(phases.slice(0, 4)).toEqual(['warm-up', 'first-answers', 'warm-up', 'window']);
});

it('that do not come within their time are an error that says how to allow more', async () => {
  const { measurement } = await measureAfterLoad({ firstAnswersMs: 2_500 });
  await expect(measurement).rejects.toMatchObject({
    code: 'SERVER_TIMEOUT',
    message: expect.stringContaining('answered none of its first requests within'),
    hint: expect.stringContaining('--first-request-timeout'),
  });
});

it('do not hold up a measurement whose time is up', async () => {
  const untilNs = realClock.nowNs() + 2_500e6;
  const { measurement } = await measureAfterLoad({ firstAnswersMs: 60_000, untilNs });
  expect((await measurement).throughput.value).toBe(0);
});
