import { describe, expect, it } from 'vitest';
import { defaultPerfAnalyzerRule, type LevelOptions, type PerfAnalyzerRule } from '#profiler/level-options.ts';
import type { ProfileProgress, WindowProgress } from '#profiler/progress.ts';
import { perfAnalyzerVerdict } from '#profiler/windows/perf-analyzer-rule.ts';
import type { SimulatedModel } from '../loadgen/simulation.ts';
import { simulate } from './simulate.ts';

const rule = (change: Partial<PerfAnalyzerRule> = {}): PerfAnalyzerRule => ({ ...defaultPerfAnalyzerRule, ...change });
const levels = (...pairs: [throughput: number, latencyMs: number][]) =>
  pairs.map(([throughput, latencyMs]) => ({ throughput, latencyMs }));

describe("perf_analyzer's verdict", () => {
  it.each([
    ['waits for three', levels([100, 10], [100, 10]), {}, null],
    ['takes three within the percentage, ends included', levels([100, 10], [110, 10], [105, 11]), {}, 'stable'],
    ['refuses a throughput beyond it', levels([100, 10], [110.2, 10], [105, 10]), {}, null],
    ['refuses a latency beyond it', levels([100, 10], [100, 11.1], [100, 10]), {}, null],
    ['looks at the last three only', levels([50, 40], [100, 10], [100, 10], [100, 10]), {}, 'stable'],
    ['never takes a window that served nothing', levels([0, 0], [0, 0], [0, 0]), {}, null],
    ['gives up after the last trial', levels([100, 10], [150, 10], [100, 10]), { maxTrials: 3 }, 'unstable'],
    ['gives up on fewer than three', levels([100, 10]), { maxTrials: 1 }, 'unstable'],
    ['stops at the threshold', levels([100, 10], [150, 10], [90, 20]), { latencyThresholdMs: 20 }, 'over'],
    ['goes on below it', levels([100, 10], [150, 10], [90, 19]), { latencyThresholdMs: 20 }, null],
    ['is stable over the threshold too', levels([9, 30], [9, 30], [9, 30]), { latencyThresholdMs: 20 }, 'stable'],
  ] as const)('%s', (_, windows, change, verdict) => {
    expect(perfAnalyzerVerdict(windows, rule(change))).toBe(verdict);
  });
});

describe("a measurement by perf_analyzer's rule", () => {
  const run = async (model: SimulatedModel, stability: PerfAnalyzerRule, change: Partial<LevelOptions> = {}) => {
    const windows: WindowProgress[] = [];
    const onProgress = (step: ProfileProgress): void => void (step.phase === 'window' && windows.push(step));
    const { measurement, clock } = simulate(model, 1, { stability, warmUpRequests: 0, onProgress, ...change });
    return { measurement: await measurement, windows, clock };
  };

  it('takes three windows of the length asked for, and no longer', async () => {
    const { measurement, windows } = await run({ executionNs: () => 4e6 }, rule({ windowMs: 1000 }));
    expect(measurement).toMatchObject({ stable: true, windows: 3, durationMs: expect.closeTo(3000, 6) });
    expect(measurement.throughput.value).toBeCloseTo(250, 9);
    expect(windows.map(({ latest }) => latest.durationMs)).toEqual(
      [1000, 1000, 1000].map((ms) => expect.closeTo(ms, 6)),
    );
    expect(windows[2]?.latest).toMatchObject({ requests: 250, latencyAvgMs: expect.closeTo(4, 9), latencyStdMs: 0 });
  });

  it('merges the last three windows only, and says what the server did in them', async () => {
    // Two and a half seconds at 10 ms, then 4 ms: the first windows are no part of it.
    const model = { executionNs: (_: number, execution: number) => (execution < 250 ? 10e6 : 4e6) };
    const { measurement, windows } = await run(model, rule({ windowMs: 1000 }));
    expect(windows.length).toBe(6);
    expect(windows.map(({ latest }) => latest.throughput)).toEqual(
      [100, 100, expect.any(Number), 250, 250, 250].map((value) =>
        typeof value === 'number' ? expect.closeTo(value, 6) : value,
      ),
    );
    expect(measurement).toMatchObject({
      stable: true,
      windows: 3,
      requests: 750,
      latencyMs: { max: 4, min: 4, std: 0 },
    });
    expect(measurement.server).toMatchObject({ successCount: 750, inferenceCount: 750, executionCount: 750 });
    expect(measurement.sendRate).toBeCloseTo(250, 6);
  });

  it('counts requests per window when asked to', async () => {
    const { measurement, windows } = await run(
      { executionNs: () => 20e6 },
      rule({ mode: 'count_windows', requestCount: 50 }),
    );
    expect(windows.map(({ latest }) => latest.requests)).toEqual([50, 50, 50]);
    expect(measurement).toMatchObject({ stable: true, requests: 150, durationMs: expect.closeTo(3000, 6) });
  });

  it('counts more of them where they would be over in a moment', async () => {
    const { windows } = await run({ executionNs: () => 4e6 }, rule({ mode: 'count_windows', requestCount: 50 }));
    expect(windows.map(({ latest }) => latest.requests)).toEqual([125, 125, 125]);
  });

  it('reports what never settles, marked', async () => {
    const model = { executionNs: (_: number, execution: number) => 20e6 * 2 ** Math.floor(execution / 40) };
    const { measurement, windows } = await run(model, rule({ mode: 'count_windows', maxTrials: 4 }));
    expect(windows.length).toBe(4);
    expect(measurement).toMatchObject({ stable: false, windows: 3, requests: 150 });
    expect(measurement.throughput.value).toBeGreaterThan(0);
  });

  it('looks at the percentile when one is given, else at the average', async () => {
    // Each 20th request takes 10 times as long, a little longer from window to window.
    const model = {
      executionNs: (_: number, execution: number) =>
        execution % 20 === 0 ? 50e6 * 1.5 ** Math.floor(execution / 200) : 5e6,
    };
    const counting = { mode: 'count_windows', requestCount: 200, maxTrials: 3, stabilityPercent: 60 } as const;
    expect((await run(model, rule(counting))).measurement.stable).toBe(true);
    expect((await run(model, rule({ ...counting, percentile: 99 }))).measurement.stable).toBe(false);
  });

  it('marks a level over the threshold as missed, stable or not', async () => {
    const change = { windowMs: 500, latencyThresholdMs: 3 };
    const stable = await run({ executionNs: () => 4e6 }, rule(change));
    expect(stable.measurement).toMatchObject({ stable: true, budgetVerdict: 'missed' });
    const growing = { executionNs: (_: number, execution: number) => 4e6 + execution * 1e5 };
    const unstable = await run(growing, rule(change));
    expect(unstable.measurement).toMatchObject({ stable: false, budgetVerdict: 'missed', windows: 3 });
    expect(unstable.windows.length).toBe(3);
    const within = await run({ executionNs: () => 2e6 }, rule(change));
    expect(within.measurement.budgetVerdict).toBeUndefined();
  });

  it('ends a window of a server that has stalled', async () => {
    const model = { executionNs: (_: number, execution: number) => (execution < 100 ? 1e6 : 300e9) };
    const { measurement, clock } = await run(model, rule({ windowMs: 50, maxTrials: 5 }), { drainMs: 10 });
    expect(measurement.stable).toBe(false);
    expect(clock.nowNs()).toBeLessThan(5e9);
  });
});

describe('a given number of requests', () => {
  const counted = (requests: number, level: number, change: Partial<LevelOptions> = {}) => {
    const sent: number[] = [];
    const model: SimulatedModel = {
      instances: 2,
      executionNs: (_, execution) => {
        sent.push(execution);
        return 10e6;
      },
    };
    const run = simulate(model, level, { stability: { kind: 'request-count', requests }, ...change });
    return { run, sent };
  };

  it.each([
    [100, 2],
    [7, 4],
    [1, 8],
    [61, 3],
  ])('sends %i at %i in flight, from the first sending to the last reply', async (requests, level) => {
    const { run, sent } = counted(requests, level);
    const measurement = await run.measurement;
    expect(sent.length).toBe(requests);
    const rounds = Math.ceil(requests / 2);
    expect(measurement).toMatchObject({
      requests,
      windows: 1,
      stable: true,
      durationMs: expect.closeTo(rounds * 10, 6),
    });
    expect(measurement.throughput.value).toBeCloseTo(requests / (rounds * 0.01), 6);
    expect(measurement.server?.successCount).toBe(requests);
    expect(measurement.foreignRequests).toBeUndefined();
  });

  it('at a request rate', async () => {
    const { run, sent } = counted(40, 100, { level: { mode: 'request-rate', value: 100 } });
    const measurement = await run.measurement;
    expect(sent.length).toBe(40);
    expect(measurement).toMatchObject({ requests: 40, durationMs: expect.closeTo(400, 6) });
    const dropping = { level: { mode: 'request-rate', value: 1000 }, openLoop: { maxInFlight: 5 } } as const;
    const short = await counted(40, 0, dropping).run.measurement;
    expect(short.requests + (short.openLoop?.droppedSends ?? 0)).toBe(40);
    expect(short.openLoop?.droppedSends).toBeGreaterThan(0);
  });

  it('counts failed ones too', async () => {
    const outcome = (request: number) =>
      request % 4 === 0 ? ({ ok: false, kind: 'status', message: 'no' } as const) : ({ ok: true } as const);
    const stability = { kind: 'request-count', requests: 40 } as const;
    const measurement = await simulate({ executionNs: () => 1e6, outcome }, 4, { stability }).measurement;
    expect(measurement).toMatchObject({ requests: 40, errorRate: 0.25 });
  });

  it('warms up with exactly as many as asked for', async () => {
    const slowStart: SimulatedModel = { executionNs: (_, execution) => (execution < 5 ? 100e6 : 10e6) };
    const stability = { kind: 'request-count', requests: 20 } as const;
    for (const [warmUpRequests, max, total] of [
      [5, 10, 25],
      [3, 100, 23],
      [0, 100, 20],
    ] as const) {
      const run = simulate(slowStart, 1, { stability, warmUpRequests });
      const measurement = await run.measurement;
      expect(measurement.latencyMs.max).toBe(max);
      expect(run.server.served.requests).toBe(total);
      expect(measurement.foreignRequests).toBeUndefined();
    }
  });
});

describe('the latencies of a measurement', () => {
  it('have a spread, a smallest one, and any percentiles', async () => {
    // Ten requests of 1, 2 … 10 ms, over and over.
    const model = { executionNs: (_: number, execution: number) => ((execution % 10) + 1) * 1e6 };
    const stability = { kind: 'request-count', requests: 1000 } as const;
    const { latencyMs, latencyPercentilesMs } = await simulate(model, 1, { stability, percentiles: [25, 85, 99.9] })
      .measurement;
    expect(latencyPercentilesMs).toEqual({
      25: expect.closeTo(3, 2),
      85: expect.closeTo(9, 2),
      99.9: expect.closeTo(10, 2),
    });
    expect(latencyMs).toMatchObject({ min: 1, max: 10 });
    // Variance of 1 … 10 is 33/4.
    expect(latencyMs.std).toBeCloseTo(Math.sqrt((8.25 * 1000) / 999), 2);
  });
});
