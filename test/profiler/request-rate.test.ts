import { describe, expect, it } from 'vitest';
import { type Alarm, sleepingAlarm } from '#base/alarm.ts';
import type { LevelOptions } from '#profiler/level-options.ts';
import type { Measurement } from '#profiler/measurement.ts';
import { SimulatedClock, type SimulatedModel, SimulatedServer } from '../loadgen/simulation.ts';
import { measure, simulate } from './simulate.ts';

describe('a request rate', () => {
  const atRate = (model: SimulatedModel, perSecond: number, change: Partial<LevelOptions> = {}): Promise<Measurement> =>
    measure(model, perSecond, { level: { mode: 'request-rate', value: perSecond }, ...change });

  it('is kept, whatever the server takes, and measured from both times', async () => {
    const measurement = await atRate({ instances: 20, executionNs: () => 30e6 }, 400);
    expect(measurement.level).toEqual({ mode: 'request-rate', value: 400 });
    expect(measurement.throughput.value).toBeCloseTo(400, 6);
    expect(measurement.openLoop).toMatchObject({ lateSends: 0, droppedSends: 0, sendLatenessP50Us: 0 });
    expect((measurement.openLoop?.achievedRate as number) / 400).toBeCloseTo(1, 2);
    expect(measurement.latencyMs.p50).toBeCloseTo(30, 6);
    expect(measurement.openLoop?.scheduledLatencyMs).toEqual(measurement.latencyMs);
    expect(measurement).toMatchObject({ stable: true, errorRate: 0, client: { bound: false } });
    expect(measurement.foreignRequests).toBeUndefined();
    expect(measurement.server?.executionCount).toBeGreaterThan(0);
  });

  it('takes arrivals of another kind', async () => {
    const measurement = await atRate({ instances: 50, executionNs: () => 5e6 }, 500, {
      scheduleAt: (perSecond) => ({ kind: 'poisson', perSecond, seed: 3 }),
    });
    expect(measurement.stable).toBe(true);
    expect(measurement.windows).toBeLessThan(8);
    // Some 500 random arrivals differ from their mean by 4 %; how many of them were served is known
    // much better.
    expect(measurement.throughput.value / 500).toBeCloseTo(1, 2);
    expect(measurement.throughput.low).toBeGreaterThan(480);
  });

  it('shows a stall of a second in the percentile, where a closed loop hides it', async () => {
    const windows = { minWindowMs: 1000, minWindows: 5, maxWindows: 5 };
    const stalling = (): SimulatedModel => {
      let stalls = 0;
      return { executionNs: (_, execution) => (execution > 900 && stalls++ === 0 ? 1.05e9 : 4e6) };
    };
    const hidden = await measure(stalling(), 1, { windows });
    expect(hidden.budgetLatencyMs.value).toBeLessThan(5);
    const shown = await atRate(stalling(), 200, { windows });
    expect(shown.budgetLatencyMs.value).toBeGreaterThan(1000);
    expect(shown.openLoop?.scheduledLatencyMs.p99).toBeGreaterThan(1000);
  });

  it('judges the budget from the time due when the client itself stalls', async () => {
    const clock = new SimulatedClock();
    let sleeps = 0;
    const alarm: Alarm = {
      ...sleepingAlarm(clock),
      // Every 300th wake-up comes 80 ms late.
      set(ns, ring) {
        void clock.sleep(ns / 1e6 + (++sleeps % 300 === 0 ? 80 : 0)).then(ring);
      },
    };
    const server = new SimulatedServer(clock, { instances: 500, executionNs: () => 2e6 });
    const options = { clock, alarm, transport: server, stats: server };
    const measurement = await atRate({ executionNs: () => 0 }, 500, options);
    expect(measurement.latencyMs.p99).toBeCloseTo(2, 2);
    expect(measurement.budgetLatencyMs.value).toBeGreaterThan(50);
    expect(measurement.openLoop?.lateSends).toBeGreaterThan(40);
    expect(measurement.client.bound).toBe(false);
    const missed = await atRate({ executionNs: () => 0 }, 500, { ...options, budgetMs: 10 });
    expect(missed.client).toMatchObject({ bound: true, reason: expect.stringMatching(/took p99 from 2 ms to .*over/) });
    const hopeless = await atRate({ executionNs: () => 0 }, 500, { ...options, budgetMs: 1 });
    expect(hopeless.client.bound).toBe(false);
  });

  it('counts what it could not send as failed', async () => {
    const measurement = await atRate({ executionNs: () => 10e6 }, 1000, { openLoop: { maxInFlight: 30 } });
    expect(measurement.throughput.value).toBeCloseTo(100, 1);
    expect(measurement.errorRate).toBeCloseTo(0.9, 1);
    expect(measurement.failures).toEqual([
      { kind: 'dropped', count: measurement.openLoop?.droppedSends, firstMessage: expect.stringMatching(/in flight/) },
    ]);
  });

  it('does not count the rest of an earlier backlog as more than what was asked for', async () => {
    const slowStart = (_: number, execution: number): number => (execution < 3 ? 400e6 : 1e6);
    const measurement = await atRate({ executionNs: slowStart }, 300, { windows: { maxWarmUpMs: 1 } });
    expect(measurement.throughput.value).toBeGreaterThan(250);
    expect(measurement.throughput.high).toBeLessThanOrEqual(300);
  });

  it('ends soon, and with nothing left in flight, when the server cannot keep up', async () => {
    const run = simulate({ executionNs: () => 5e6 }, 0, { level: { mode: 'request-rate', value: 400 }, budgetMs: 20 });
    const measurement = await run.measurement;
    expect(measurement).toMatchObject({ budgetVerdict: 'missed', windows: 2 });
    expect(measurement.throughput.value).toBeCloseTo(200, 0);
    expect(run.server.inFlight).toBe(0);
    expect(run.clock.nowNs()).toBeLessThan(5e9);
  });

  it('ends in its time, with what it has counted, at a rate that would take minutes', async () => {
    const windows = { minWindows: 12, maxWindows: 16, minWindowMs: 5000, maxWindowMs: 5000 };
    const level = { mode: 'request-rate', value: 0.5 } as const;
    const slow: SimulatedModel = { executionNs: () => 1e9 };
    const whole = simulate(slow, 0, { level, windows });
    expect((await whole.measurement).durationMs).toBeGreaterThan(60_000);
    const cut = simulate(slow, 0, { level, windows, untilNs: 20e9 });
    const measurement = await cut.measurement;
    expect(measurement.requests).toBeGreaterThan(4);
    expect(measurement).toMatchObject({ stable: false, errorRate: 0 });
    // The last reply was waited for.
    expect(cut.clock.nowNs()).toBeLessThan(26e9);
    expect(cut.server.inFlight).toBe(0);
  });

  it('has nothing to say where no reply comes in its time', async () => {
    const level = { mode: 'request-rate', value: 1 } as const;
    const run = simulate({ instances: 99, executionNs: () => 60e9 }, 0, { level, untilNs: 10e9 });
    expect(await run.measurement).toMatchObject({ requests: 0, windows: 0, stable: false });
    expect(run.clock.nowNs()).toBeLessThan(16e9);
  });
});
