import { describe, expect, it } from 'vitest';
import type { LevelOptions } from '#profiler/level-options.ts';
import type { Measurement } from '#profiler/measurement.ts';
import type { ProfileProgress } from '#profiler/progress.ts';
import { passDivision } from '#profiler/windows/whole-passes.ts';
import type { ArrivalPlan } from '#workload/arrival-plan.ts';
import { aPlan, classedSet, nameOf } from '../loadgen/request-classes.ts';
import type { SimulatedModel } from '../loadgen/simulation.ts';
import { measure } from './simulate.ts';

/**
 * A quiet half with 20 small requests, and 20 small and 10 large ones together in the other: 50
 * requests in a second.
 */
const plan = aPlan(
  [
    ...Array.from({ length: 20 }, (_, at) => [25 * at, 'small'] as const),
    ...Array.from({ length: 10 }, (_, at) => [
      [500 + 50 * at, 'small'] as const,
      [500 + 50 * at, 'large'] as const,
      [500 + 50 * at, 'small'] as const,
    ]).flat(),
  ],
  1000,
);
const requests = classedSet([
  ['large', 1, { e2eNs: 12e6 }],
  ['small', 2, { e2eNs: 4e6 }],
]);

/** One at a time: 10 ms for a large one, 2 ms for a small one. */
const server: SimulatedModel = {
  executionNs: (_, __, [request]) => (request && nameOf(request).startsWith('large') ? 10e6 : 2e6),
};

const play = (change: Partial<LevelOptions> = {}, model = server, played: ArrivalPlan = plan): Promise<Measurement> =>
  measure(model, 50, {
    level: { mode: 'request-rate', value: 50 },
    requests,
    scheduleAt: () => ({ kind: 'arrivals', plan: played }),
    ...change,
  });

describe('a plan of arrivals', () => {
  it('is measured over whole passes, class by class', async () => {
    const measurement = await play();
    const { goodput, classes, requests: counted, windows, stable, durationMs, throughput } = measurement;
    expect([windows, stable, counted, durationMs]).toEqual([5, true, 250, expect.closeTo(5000, 6)]);
    expect(throughput.value).toBe(50);
    // Of three at once the first small one takes 2 ms, the large one 12 ms, and the second small
    // one 14 ms.
    expect(goodput?.value).toBeCloseTo(40, 9);
    const [large, small] = classes ?? [];
    expect([large?.name, large?.requests, large?.failures, small?.name, small?.requests]).toEqual([
      ...['large', 50, 0],
      ...['small', 200],
    ]);
    expect([large?.throughput.value, large?.goodput?.value]).toEqual([expect.closeTo(10, 9), expect.closeTo(10, 9)]);
    expect([small?.throughput.value, small?.goodput?.value]).toEqual([expect.closeTo(40, 9), expect.closeTo(30, 9)]);
    expect(large?.latencyMs.avg).toBeCloseTo(12, 6);
    expect(small?.latencyMs.avg).toBeCloseTo((30 * 2 + 10 * 14) / 40, 6);
    expect(small?.budgetLatencyMs).toMatchObject({ percentile: 99, value: expect.closeTo(14, 1) });
  });

  it.each([1, 2, 7, 40])('is counted for %i passes where so many are asked for', async (passes) => {
    const progress: ProfileProgress[] = [];
    const measurement = await play({
      stability: { kind: 'passes', passes },
      onProgress: (step) => progress.push(step),
    });
    expect([measurement.windows, measurement.requests]).toEqual([passes, 50 * passes]);
    expect(progress.filter(({ phase }) => phase === 'window')).toHaveLength(passes);
  });

  it('gives the same figures wherever in a pass the counting began', async () => {
    const shifts = [0, 130, 333, 480, 760];
    const all = await Promise.all(
      shifts.map((ms) => {
        let isFirst = true;
        // The warm-up ends that much later.
        const model: SimulatedModel = {
          executionNs: (batch, execution, taken) => {
            const late = isFirst ? ms * 1e6 : 0;
            isFirst = false;
            return late + server.executionNs(batch, execution, taken);
          },
        };
        return play({}, model);
      }),
    );
    const figures = all.map(({ requests: counted, goodput, latencyMs }) => [counted, goodput?.value, latencyMs.avg]);
    for (const each of figures) expect(each).toEqual([250, expect.closeTo(40, 9), expect.closeTo(6.4, 6)]);
  });

  it('counts what was dropped against goodput and class', async () => {
    // While a large one runs, nothing else is sent.
    const { goodput, classes, errorRate, failures } = await play({ openLoop: { maxInFlight: 2 } });
    expect(goodput?.value).toBeCloseTo(40, 9);
    const [large, small] = classes ?? [];
    expect([large?.failures, small?.requests]).toEqual([0, 150]);
    // The tally also has the slice before the counting.
    expect(small?.failures).toBeGreaterThanOrEqual(50);
    expect(failures[0]?.kind).toBe('dropped');
    expect(errorRate).toBeCloseTo(0.2, 1);
  });

  it('ends at once where the budget is missed by far', async () => {
    const kept = await play({ budgetMs: 20 });
    expect([kept.windows, kept.stable, kept.budgetVerdict]).toEqual([5, true, undefined]);
    const missed = await play({ budgetMs: 20 }, { executionNs: () => 19e6 });
    expect(missed).toMatchObject({ windows: 1, budgetVerdict: 'missed' });
  });

  it('plays on uncounted while a server settles after a load', async () => {
    const measurement = await play(
      { isFresh: true },
      {
        executionNs: (batch, execution, taken) =>
          (execution < 110 ? 3 : 1) * server.executionNs(batch, execution, taken),
      },
    );
    expect(measurement.latencyMs.max).toBeCloseTo(14, 6);
  });

  it('ends when nothing comes any more', async () => {
    const measurement = await play({}, { executionNs: (_, execution) => (execution < 200 ? 2e6 : 3600e9) });
    expect(measurement.stable).toBe(false);
  });

  it('counts failures by class', async () => {
    const { classes, errorRate } = await play(
      {},
      {
        ...server,
        outcome: (request) => (request % 5 === 0 ? { ok: false, kind: 'status', message: 'no' } : { ok: true }),
      },
    );
    expect(errorRate).toBeCloseTo(0.2, 6);
    expect(classes?.map(({ failures }) => failures).reduce((sum, each) => sum + each, 0)).toBe(50);
    expect(classes?.map(({ requests: counted }) => counted)).toEqual([50, 200]);
  });
});

describe('passDivision', () => {
  it.each([
    [1000, undefined, { passes: 5, slices: 4 }],
    [100, undefined, { passes: 50, slices: 1 }],
    [60_000, undefined, { passes: 1, slices: 30 }],
    [10_000, 3, { passes: 3, slices: 7 }],
  ])('of %i ms', (ms, asked, division) => {
    expect(passDivision(ms * 1e6, 2e9, asked)).toEqual(division);
  });
});
