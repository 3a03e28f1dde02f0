import { describe, expect, it, onTestFinished } from 'vitest';
import { realClock } from '#base/clock.ts';
import { prepareInputs } from '#loadgen/inputs.ts';
import { openTransport } from '#loadgen/transports/open.ts';
import { coldSizes } from '#profiler/cold-sizes.ts';
import { measureLevel } from '#profiler/measure-level.ts';
import { connectHttp } from '#triton/control/connect.ts';
import type { ModelStatistics } from '#triton/types.ts';
import { emulatorForTest, smallProfile } from '../support/emulator.ts';
import { simulate } from './simulate.ts';

describe('a batch size seen for the first time', () => {
  const read = (...sizes: readonly (readonly [size: number, count: number, meanNs: number])[]): ModelStatistics[] => [
    {
      version: '1',
      batchStats: sizes.map(([batchSize, count, meanNs]) => ({
        batchSize,
        computeInput: { count, ns: 0 },
        computeInfer: { count, ns: count * meanNs },
        computeOutput: { count, ns: 0 },
      })),
    } as Partial<ModelStatistics> as ModelStatistics,
  ];

  it.each([
    ['is cold when it took far longer than the next larger one', [[8, 50, 5e6]], [4, 1, 90e6], [4]],
    ['is cold when it took far longer per sample than a smaller one', [[2, 50, 4e6]], [8, 2, 200e6], [8]],
    ['shows among many of its kind', [[2, 50, 4e6]], [4, 60, (60 * 5e6 + 400e6) / 60], [4]],
    [
      'is none of the sort when it is as quick as the others',
      [
        [2, 50, 4e6],
        [8, 9, 7e6],
      ],
      [4, 3, 5e6],
      [],
    ],
    ['may take as much per sample as a smaller one', [[2, 50, 4e6]], [8, 50, 16e6], []],
    ['cannot be judged alone', [], [8, 3, 500e6], []],
    [
      'is not new when it was seen before',
      [
        [8, 50, 5e6],
        [4, 3, 4e6],
      ],
      [4, 9, 90e6],
      [],
    ],
  ] as const)('%s', (_, known, seen, cold) => {
    const others = known.filter(([size]) => size !== seen[0]);
    expect(coldSizes(read(...known), read(...others, seen))).toEqual(cold);
  });

  /** Batches of two until the size changes; the first one of a new size takes 300 ms. */
  const changing = (coldNs: number) => {
    const seen = new Set([1, 2]);
    return {
      maxBatch: 4,
      executionNs: (batch: number, execution: number) => {
        if (execution < 30 || seen.has(batch)) return 2e6 + batch * 1e6;
        seen.add(batch);
        return coldNs;
      },
    };
  };

  it('is kept out, and said, when it comes in the windows', async () => {
    // The level rises from outside after half a second, as traffic does whose requests begin to be
    // batched.
    const run = simulate(changing(300e6), 2, { windows: { minWindows: 3 } });
    run.clock.after(600e6, () => {
      for (let extra = 0; extra < 2; extra++) {
        const again = (): void => run.server.send({ request: {} as never }, again);
        again();
      }
    });
    const measurement = await run.measurement;
    expect(measurement.coldWindows).toBeGreaterThan(0);
    expect(measurement.latencyMs.max).toBeLessThan(20);
    expect(measurement.windows).toBeGreaterThanOrEqual(3);
  });
});

/** Far longer than a busy machine holds a request up. */
const COLD_MS = 600;

describe('a cold instance among warm ones', () => {
  it('is woken before anything is counted', async () => {
    const measured = async (isFresh: boolean) => {
      const emulator = await emulatorForTest({
        profile: smallProfile({
          a: 4,
          config: { instance_group: [{ count: 4, kind: 'KIND_CPU' }] },
          model: { first_execution_ms: COLD_MS },
        }),
      });
      const client = connectHttp(emulator.httpUrl, {});
      const transport = openTransport('http', { url: emulator.httpUrl, timeoutMs: 5000 });
      onTestFinished(async () => {
        await transport.close();
        await client.close();
      });
      const [metadata, config] = [await client.modelMetadata('m'), await client.modelConfig('m')];
      return measureLevel({
        transport,
        requests: prepareInputs(metadata, config, { batch: 1, seed: 1, kind: 'random' }),
        level: { mode: 'concurrency', value: 1 },
        stats: client,
        clock: realClock,
        signal: new AbortController().signal,
        percentile: 99,
        instances: 4,
        isFresh,
        windows: { minWindows: 2, maxWindows: 3, maxWarmUpMs: 1 },
      });
    };
    const cold = await measured(false);
    expect(cold.latencyMs.max).toBeGreaterThan(COLD_MS);
    const woken = await measured(true);
    expect(woken.latencyMs.max).toBeLessThan(COLD_MS);
    expect(woken.foreignRequests).toBeUndefined();
  }, 180_000);
});
