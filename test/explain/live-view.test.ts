import { describe, expect, it } from 'vitest';
import { summarizeLive } from '#explain/live-view.ts';
import type { CounterReading } from '#explain/readings.ts';
import type { ModelStatistics, StatisticDuration } from '#triton/types.ts';

const statistics = (name: string, count: number, ns: number): ModelStatistics => {
  const none: StatisticDuration = { count, ns: 0 };
  const infer: StatisticDuration = { count, ns };
  return {
    name,
    version: '1',
    lastInferenceMs: 0,
    inferenceCount: 2 * count,
    executionCount: count,
    success: { count, ns: 3 * ns },
    fail: { count: 0, ns: 0 },
    queue: infer,
    computeInput: none,
    computeInfer: infer,
    computeOutput: none,
    cacheHit: { count: 0, ns: 0 },
    cacheMiss: { count: 0, ns: 0 },
    batchStats: [{ batchSize: 2, computeInput: none, computeInfer: infer, computeOutput: none }],
    memoryUsage: [],
  };
};

/** A reading each second: 10 requests a second of `slow`, and 40 of `busy` from the 60th on. */
const readings: readonly CounterReading[] = Array.from({ length: 100 }, (_, second) => ({
  atNs: second * 1e9,
  statistics: [
    statistics('slow', 10 * second, 10 * second * 2e6),
    statistics('busy', 40 * Math.max(0, second - 60), 40 * Math.max(0, second - 60) * 1e6),
    statistics('idle', 7, 7e6),
  ],
}));

describe('what a service does now', () => {
  const configs = new Map([['slow', { name: 'slow', instance_group: [{ count: 3 }] }]]);

  it('is the mean of the last readings, the busiest model first', () => {
    const models = summarizeLive(readings, configs);
    expect(models.map(({ name, perSecond }) => [name, perSecond])).toEqual([
      ['busy', 40],
      ['slow', 10],
      ['idle', 0],
    ]);
    expect(models[1]).toMatchObject({ timesMs: { queue: 2, execution: 2, other: 2 }, meanBatch: 2, instances: 3 });
    expect(models[1]?.busy).toBeCloseTo(0.02);
    expect(models[0]?.instances).toBeNull();
    expect(models[2]?.timesMs).toBeNull();
  });

  it('has the course of the last minute', () => {
    const [busy] = summarizeLive(readings, configs);
    expect(busy?.course).toHaveLength(60);
    expect(busy?.course[0]).toBe(0);
    expect(busy?.course.at(-1)).toBe(40);
  });

  it('is nothing before the second reading', () => {
    expect(summarizeLive(readings.slice(0, 1), configs)).toEqual([]);
  });
});
