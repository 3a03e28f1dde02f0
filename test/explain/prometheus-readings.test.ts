import { describe, expect, it } from 'vitest';
import {
  type CounterName,
  counterMetrics,
  type ScrapedCounter,
  toInstanceReadings,
} from '#explain/prometheus-readings.ts';
import { readServed } from '#explain/readings.ts';

/** Series of one model: of each counter, its value at each time. */
const toSeries = (
  instance: string,
  counts: Partial<Record<CounterName, readonly number[]>>,
  { model = 'm', seconds = [0, 15, 30] }: { model?: string; seconds?: readonly number[] } = {},
): ScrapedCounter[] =>
  (Object.keys(counterMetrics) as CounterName[]).map((counter) => ({
    counter,
    instance,
    model,
    version: '1',
    values: new Map(seconds.map((second, index) => [second, counts[counter]?.[index] ?? 0])),
  }));

const counts = {
  success: [100, 400, 1000],
  inferences: [100, 400, 1000],
  executions: [50, 200, 300],
  requestUs: [0, 3e6, 15e6],
  queueUs: [0, 1.2e6, 6e6],
  inferUs: [0, 1.2e6, 6e6],
} as const;

describe('the counters of Prometheus', () => {
  it('are readings whose executions have the mean batch of their interval', () => {
    const [only] = toInstanceReadings(toSeries('a:8002', counts));
    expect(only).toMatchObject({ instance: 'a:8002', requests: 900 });
    expect(only?.readings.map(({ atNs }) => atNs)).toEqual([0, 15e9, 30e9]);
    const { breakdown, seconds, intervals } = readServed(only?.readings ?? []).get('m') as NonNullable<
      ReturnType<ReturnType<typeof readServed>['get']>
    >;
    expect(seconds).toBe(30);
    expect(breakdown).toMatchObject({ successCount: 900, executionCount: 250, inferenceCount: 900 });
    expect(breakdown?.queueUs).toBeCloseTo(6e6 / 900);
    expect(breakdown?.batches).toEqual([
      { size: 2, executions: 150, meanExecutionUs: expect.closeTo(4000) },
      { size: 6, executions: 100, meanExecutionUs: expect.closeTo(8000) },
    ]);
    expect(intervals).toHaveLength(2);
  });

  it('of several devices are added up', () => {
    const [only] = toInstanceReadings([...toSeries('a', counts), ...toSeries('a', counts)]);
    expect(only?.requests).toBe(1800);
    expect(only?.readings.at(-1)?.statistics).toHaveLength(1);
    expect(only?.readings.at(-1)?.statistics[0]?.success.count).toBe(2000);
  });

  it('of several servers are apart, the busiest first', () => {
    const all = toInstanceReadings([
      ...toSeries('quiet', { ...counts, success: [0, 1, 2] }),
      ...toSeries('busy', counts),
    ]);
    expect(all.map(({ instance }) => instance)).toEqual(['busy', 'quiet']);
  });

  it('that begin anew are a restart, and models that come later have no readings before', () => {
    const restarted = { ...counts, success: [1000, 10, 400], executions: [300, 5, 200], inferences: [1000, 10, 400] };
    const later = toSeries('a', counts, { model: 'later', seconds: [15, 30] });
    const [only] = toInstanceReadings([...toSeries('a', restarted), ...later]);
    expect(only?.readings.map(({ statistics }) => statistics.length)).toEqual([1, 2, 2]);
    expect(readServed(only?.readings ?? []).get('m')?.restarts).toBe(1);
  });

  it('may be none', () => {
    expect(toInstanceReadings([])).toEqual([]);
  });
});
