import { describe, expect, it } from 'vitest';
import type { HeldUp, Pause } from '#loadgen/client/held-up.ts';
import { type Flow, localFlow } from '#loadgen/flow.ts';
import type { Batch } from '#loadgen/recorder.ts';
import type { SendOrder } from '#loadgen/sender.ts';
import { heldUpReason } from '#profiler/client/held-up-reason.ts';
import type { LevelOptions } from '#profiler/level-options.ts';
import type { Measurement } from '#profiler/measurement.ts';
import type { ProfileProgress } from '#profiler/progress.ts';
import { watchPeriodNs } from '#profiler/windows/void-windows.ts';
import { SimulatedClock, SimulatedServer } from '../loadgen/simulation.ts';
import { measure } from './simulate.ts';

const MS = 1e6;
const nothing: HeldUp = { pauses: [], runQueueNs: 0, threads: 1 };
const pauseOf = (lengthNs: number): Pause => ({ startNs: 0, lengthNs, gcNs: 0 });

/**
 * Executions of 2 ms, of which one in 50 takes so many: what one pause of the client would look
 * like.
 */
const withTail = (slowMs: number) => ({
  executionNs: (_: number, execution: number) => (execution % 50 === 49 ? slowMs : 2) * MS,
});

interface Watched {
  readonly slowMs?: number;
  /** By the number of the batch since counting began; there are five in a window. */
  readonly heldUpIn: (batch: number) => HeldUp;
  readonly change?: Partial<LevelOptions>;
}

/** Measures one request in flight by a client that says of each batch what held it up. */
async function measureWatched({ slowMs = 9, heldUpIn, change = {} }: Watched) {
  const steps: ProfileProgress[] = [];
  const clock = new SimulatedClock();
  const server = new SimulatedServer(clock, withTail(slowMs));
  const openFlow = (order: SendOrder): Flow => {
    const flow = localFlow(order, { transport: server, clock });
    const record: Flow['record'] = (rule, onBatch, startNs) => {
      let batches = 0;
      const isWatched = rule.watchEveryNs !== undefined;
      const tell = (batch: Batch): void => onBatch(isWatched ? { ...batch, heldUp: heldUpIn(batches++) } : batch);
      flow.record(rule, tell, startNs);
    };
    return Object.assign(Object.create(flow), { record });
  };
  const measurement = await measure(withTail(slowMs), 1, {
    clock,
    transport: server,
    stats: server,
    openFlow,
    windows: { minWindows: 3, maxWindows: 4, maxVoidWindows: 4 },
    onProgress: (step) => steps.push(step),
    ...change,
  });
  return { measurement, steps };
}

const windowOf = (batch: number): number => Math.floor(batch / 5);
const held = (...lengthsMs: readonly number[]): HeldUp => ({
  ...nothing,
  pauses: lengthsMs.map((ms) => pauseOf(ms * MS)),
});

describe('a window in which the client was held up', () => {
  it('is dropped and measured again, and that is said', async () => {
    const heldUpIn = (batch: number): HeldUp => (windowOf(batch) === 1 ? held(7, 7) : nothing);
    const { measurement, steps } = await measureWatched({ heldUpIn });
    expect(measurement.voidWindows).toBe(1);
    expect(measurement.windows).toBeGreaterThanOrEqual(3);
    expect(measurement.client.tailShiftMs).toBe(0);
    expect(steps).toContainEqual({ phase: 'void', voidWindows: 1 });
    // Windows of 250 ms and the slow execution at their end, without the one between them.
    expect(measurement.durationMs / measurement.windows).toBeLessThan(280);
    expect((measurement.throughput.value * measurement.durationMs) / 1000 / measurement.requests).toBeCloseTo(1, 6);
    const { successCount = 0, batches } = measurement.server ?? {};
    expect(successCount / measurement.requests).toBeCloseTo(1, 1);
    expect(batches?.[0]?.executions).toBe(successCount);
    expect(measurement.sendRate / measurement.throughput.value).toBeCloseTo(1, 1);
  });

  it.each([{}, { budgetMs: 30 }, { budgetMs: 1 }, { percentile: 50 }])(
    'is measured again whatever the verdict if the process was suspended: %j',
    async (change) => {
      const heldUpIn = (batch: number): HeldUp => (windowOf(batch) === 1 ? held(20_000) : nothing);
      const { measurement, steps } = await measureWatched({ heldUpIn, change });
      expect(measurement.voidWindows).toBe(1);
      expect(steps).toContainEqual({ phase: 'void', voidWindows: 1 });
      expect(measurement.client.tailShiftMs).toBe(0);
    },
  );

  it('counts in the end where the process is suspended again and again', async () => {
    const { measurement } = await measureWatched({ heldUpIn: () => held(20_000) });
    expect(measurement.voidWindows).toBeGreaterThanOrEqual(5);
    expect(measurement.windows).toBeGreaterThan(0);
  });

  it('is not stable where its requests are counted, and cannot be sent again', async () => {
    const stability = { kind: 'request-count', requests: 200 } as const;
    const stableWith = async (heldUpIn: () => HeldUp): Promise<boolean> =>
      (await measureWatched({ heldUpIn, change: { stability } })).measurement.stable;
    expect(await stableWith(() => held(20_000))).toBe(false);
    expect(await stableWith(() => held(20))).toBe(true);
  });

  it('counts where those that were held up cannot have made the percentile', async () => {
    // A percentile that lies in the body of two milliseconds.
    const { measurement } = await measureWatched({ heldUpIn: () => held(7), change: { percentile: 90 } });
    expect(measurement.voidWindows).toBeUndefined();
    expect(measurement.client.tailShiftMs).toBe(0);
  });

  it.each([
    ['is far below', 30],
    ['stays far above without them', 1],
  ])('counts where the percentile %s the budget: nothing hangs on it', async (_, budgetMs) => {
    const heldUpIn = (batch: number): HeldUp => (windowOf(batch) === 1 ? held(7, 7) : nothing);
    const { measurement } = await measureWatched({ heldUpIn, change: { budgetMs } });
    expect(measurement.voidWindows).toBeUndefined();
    expect(measurement.client.bound).toBe(false);
    const near = await measureWatched({ heldUpIn, change: { budgetMs: 10 } });
    expect(near.measurement.voidWindows).toBe(1);
  });

  it('counts in the end: no more are measured again than may be', async () => {
    const { measurement } = await measureWatched({ heldUpIn: () => held(7, 7, 7) });
    expect([measurement.voidWindows, measurement.windows]).toEqual([4, expect.any(Number)]);
    expect(measurement.windows).toBeGreaterThanOrEqual(3);
    expect(measurement.client.tailShiftMs).toBeCloseTo(7, 1);
    // Nothing hangs on it without a budget.
    expect(measurement.client.bound).toBe(false);
  });

  it.each([
    ['may be late because of it alone', 5, true],
    ['is met in spite of it', 20, false],
    ['is missed by more than it can have done', 1, false],
  ])('decides nothing about a budget that %s', async (_, budgetMs, isBound) => {
    const heldUpIn = () => ({ ...held(7, 7, 7), runQueueNs: 40 * MS });
    const { measurement } = await measureWatched({ heldUpIn, change: { budgetMs } });
    expect(measurement.client.bound).toBe(isBound);
    if (!isBound) return;
    expect(measurement.budgetVerdict).toBeUndefined();
    expect(measurement.client).toMatchObject({
      starved: true,
      reason: expect.stringMatching(
        /^other processes kept the load generator off the CPU for .* \(7 ms at a time\); that may account for up to 7 ms of the 9.* p99$/,
      ),
    });
  });

  it.each([
    [
      'perf_analyzer',
      {
        kind: 'perf-analyzer',
        mode: 'time_windows',
        windowMs: 250,
        requestCount: 1,
        stabilityPercent: 99,
        maxTrials: 4,
      },
    ],
    ['a number of requests', { kind: 'request-count', requests: 400 }],
  ] as const)('is only told by the rule of %s', async (_, stability) => {
    const { measurement }: { measurement: Measurement } = await measureWatched({
      heldUpIn: () => held(7, 7),
      change: { stability, budgetMs: 5 },
    });
    expect([measurement.voidWindows, measurement.client.bound]).toEqual([undefined, false]);
    expect(measurement.client.tailShiftMs).toBeGreaterThan(6);
  });

  it('counts in an open loop by the time due', async () => {
    const level = { mode: 'request-rate', value: 300 } as const;
    const heldUpIn = (batch: number): HeldUp => (windowOf(batch) === 1 ? held(7, 7) : nothing);
    const { measurement } = await measureWatched({ heldUpIn, change: { level } });
    expect(measurement.voidWindows).toBeGreaterThan(0);
    expect(measurement.throughput.value / 300).toBeCloseTo(1, 1);
  });
});

describe('why a percentile may be the client’s', () => {
  const about = (heldUp: HeldUp) => ({ shiftNs: MS, percentileNs: 10 * MS, percentile: 99, isBent: true, heldUp });
  const pauses = [pauseOf(4 * MS), pauseOf(6 * MS)];

  it.each([
    [
      'garbage collection paused the load generator',
      { ...nothing, pauses: [{ startNs: 0, lengthNs: 10 * MS, gcNs: 8 * MS }] },
      {},
    ],
    [
      'the host of this virtual machine kept the load generator off the CPU',
      { ...nothing, pauses, runQueueNs: 9 * MS },
      { stolenMs: 10 },
    ],
    [
      'other processes kept the load generator off the CPU',
      { ...nothing, pauses, runQueueNs: 9 * MS },
      { stolenMs: 0 },
    ],
    [
      'other processes kept the load generator off the CPU',
      { ...nothing, pauses, runQueueNs: null },
      { pressedMs: 300 },
    ],
    ['its own work delayed the load generator', { ...nothing, pauses, runQueueNs: 1 * MS }, { pressedMs: 300 }],
  ])('is said: %s', (cause, heldUp, host) => {
    const reason = heldUpReason(about(heldUp), host);
    const longestMs = cause.startsWith('garbage') ? 10 : 6;
    expect(reason).toBe(
      `${cause} for 10 ms (${longestMs} ms at a time); that may account for up to 1 ms of the 10 ms p99`,
    );
  });
});

it('looks more seldom where latency is long', () => {
  expect([0, 2.5, 100, 10_000].map((ms) => watchPeriodNs(ms * MS) / MS)).toEqual([1, 1, 2, 5]);
});
