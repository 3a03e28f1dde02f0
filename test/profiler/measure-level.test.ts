import { describe, expect, it } from 'vitest';
import { type Random, seededRandom, standardNormal } from '#base/random.ts';
import type { SendOutcome } from '#loadgen/types.ts';
import type { ProfileProgress } from '#profiler/progress.ts';
import { aRequestSet, type SimulatedModel } from '../loadgen/simulation.ts';
import { measure, simulate } from './simulate.ts';

const failure = (kind: 'status' | 'refused', message: string): SendOutcome => ({ ok: false, kind, message });

/** Lognormal with mean 1. */
function noise(random: Random, sigma: number): number {
  return Math.exp(sigma * standardNormal(random) - sigma ** 2 / 2);
}

describe('measureLevel', () => {
  it('gives the figures of a deterministic server exactly', async () => {
    const measurement = await measure({ instances: 2, executionNs: () => 4e6 }, 8);
    expect(measurement.level).toEqual({ mode: 'concurrency', value: 8 });
    expect(measurement.throughput.value).toBeCloseTo(500, 6);
    expect(measurement.latencyMs.avg).toBeCloseTo(16, 6);
    expect(measurement.budgetLatencyMs).toMatchObject({ percentile: 99, value: 16, low: 16, high: 16 });
    expect(measurement.windowPercentilesMs).toEqual({ low: 16, high: 16 });
    expect(measurement).toMatchObject({ stable: true, windows: 3, errorRate: 0, failures: [] });
    expect(measurement.latencyMs).toMatchObject({ p50: 16, p90: 16, p95: 16, p99: 16, max: 16 });
    expect(measurement.requests / measurement.durationMs).toBeCloseTo(0.5, 9);
  });

  it('takes well under two seconds for a fast model, and at least 20 latencies a window for a slow one', async () => {
    const fast = simulate({ executionNs: () => 0.2e6 }, 2);
    await fast.measurement;
    expect(fast.clock.nowNs()).toBeLessThan(1.2e9);
    const slow = await measure({ executionNs: () => 50e6 }, 1);
    expect(slow.durationMs / slow.windows).toBeGreaterThanOrEqual(1000);
  });

  it('tells the percentile of its quietest and its worst window', async () => {
    // One spell of slow answers, shorter than a window.
    const spell = (nowNs: number): number => (nowNs > 0.55e9 && nowNs < 0.6e9 ? 9e6 : 3e6);
    const run = simulate({ executionNs: () => spell(run.clock.nowNs()) }, 1);
    const { windowPercentilesMs, budgetLatencyMs } = await run.measurement;
    expect(windowPercentilesMs?.low).toBeCloseTo(3, 2);
    expect(windowPercentilesMs?.high).toBeCloseTo(9, 1);
    expect(budgetLatencyMs.value).toBeGreaterThanOrEqual(windowPercentilesMs?.low ?? Number.NaN);
    expect(budgetLatencyMs.value).toBeLessThanOrEqual(windowPercentilesMs?.high ?? Number.NaN);
    const refused = await measure({ executionNs: () => 1e6, outcome: () => failure('status', 'no') }, 1);
    expect(refused.windowPercentilesMs).toBeUndefined();
  });

  it('counts nothing of the time in which a server gets faster after a load', async () => {
    // Half as fast for a second and a half, less and less so.
    const slow = (nowNs: number): number => 2e6 * (1 + Math.max(0, 1 - nowNs / 1.5e9));
    const measured = async (isFresh: boolean) => {
      const run = simulate({ executionNs: () => slow(run.clock.nowNs()) }, 1, { isFresh });
      return (await run.measurement).throughput.value;
    };
    expect(await measured(true)).toBeGreaterThan(475);
    expect(await measured(false)).toBeLessThan(450);
  });

  it('takes no longer after a load where the server is as fast as ever', async () => {
    const taken = async (isFresh: boolean): Promise<number> => {
      const run = simulate({ executionNs: () => 2e6 }, 1, { isFresh });
      await run.measurement;
      return run.clock.nowNs();
    };
    expect(await taken(true)).toBeLessThan(1.05 * (await taken(false)));
  });

  it('is not fooled by requests that complete together', async () => {
    const model = { maxBatch: 8, executionNs: (batch: number) => 6e6 + batch * 0.5e6 };
    const measurement = await measure(model, 8);
    expect(measurement).toMatchObject({ stable: true, windows: 3 });
    expect(measurement.throughput.value).toBeCloseTo(800, 6);
  });

  it('multiplies by the client batch', async () => {
    const measurement = await measure({ executionNs: () => 4e6 }, 1, { requests: { ...aRequestSet, batch: 16 } });
    expect(measurement.throughput.value).toBeCloseTo(250 * 16, 6);
  });

  it('keeps cold executions out', async () => {
    const cold = (_: number, execution: number): number => (execution < 6 ? 40e6 : 1e6);
    const measurement = await measure({ instances: 2, executionNs: cold }, 4);
    expect(measurement.latencyMs.max).toBeLessThan(4);
    expect(measurement.stable).toBe(true);
  });

  it('waits until latency has stopped falling', async () => {
    const settling = (_: number, execution: number): number => 1e6 * (1 + 20 * Math.exp(-execution / 60));
    const measurement = await measure({ executionNs: settling }, 1);
    expect(measurement.latencyMs.max).toBeLessThan(2.5);
  });

  it('bounds the warm-up and the measurement of a model that never settles', async () => {
    const random = seededRandom(4);
    const wild = simulate({ executionNs: () => 3e6 * noise(random, 1.5) }, 4);
    const measurement = await wild.measurement;
    expect(measurement).toMatchObject({ stable: false, windows: 10 });
    expect(measurement.throughput.value).toBeGreaterThan(0);
    expect(wild.clock.nowNs()).toBeLessThan(60e9);
  });

  it('says where the server spent the time, over the counted windows only', async () => {
    const model = { maxBatch: 4, executionNs: (batch: number) => (2 + batch) * 1e6 };
    const { server: breakdown } = await measure(model, 8);
    expect(breakdown?.queueUs).toBeCloseTo(6000, 0);
    expect(breakdown?.computeInferUs).toBeCloseTo(6000, 0);
    expect(breakdown?.overheadUs).toBeCloseTo(0, 6);
    expect(breakdown?.batches).toEqual([
      { size: 4, executions: breakdown?.executionCount, meanExecutionUs: expect.closeTo(6000, 6) },
    ]);
    expect((breakdown?.inferenceCount as number) / (breakdown?.executionCount as number)).toBe(4);
  });

  it('asks the server where the client begins and ends to count, however long the answer takes', async () => {
    const run = simulate({ instances: 4, executionNs: () => 1e6 }, 4, {
      stats: {
        statistics: async (model) => {
          const now = await run.server.statistics(model);
          await run.clock.sleep(150);
          return now;
        },
      },
    });
    const { server: breakdown, requests, windows, durationMs } = await run.measurement;
    expect([windows, durationMs]).toEqual([3, expect.closeTo(750, 6)]);
    expect(Math.abs((breakdown?.successCount as number) - requests)).toBeLessThanOrEqual(4);
  });

  it('reports failures with their share, beside the figures of the requests that succeeded', async () => {
    const outcome = (request: number): SendOutcome => (request % 10 === 3 ? failure('status', 'no') : { ok: true });
    const measurement = await measure({ instances: 4, executionNs: () => 2e6, outcome }, 4);
    expect(measurement.errorRate).toBeCloseTo(0.1, 1);
    expect(measurement.failures).toEqual([
      { kind: 'status', count: Math.round(measurement.errorRate * measurement.requests), firstMessage: 'no' },
    ]);
    expect(measurement.latencyMs.max).toBe(2);
  });

  it('calls nothing stable of which most requests failed, however evenly', async () => {
    const outcome = (request: number): SendOutcome => (request % 10 === 3 ? { ok: true } : failure('status', 'no'));
    const model = { instances: 4, executionNs: () => 2e6, outcome };
    const stability = { kind: 'request-count', requests: 200 } as const;
    expect(await measure(model, 4)).toMatchObject({ stable: false, errorRate: expect.closeTo(0.9, 2) });
    expect(await measure(model, 4, { stability })).toMatchObject({ stable: false, requests: 200, errorRate: 0.9 });
  });

  it('reports a model that fails every request, without an exception and soon', async () => {
    const run = simulate({ executionNs: () => 1e6, outcome: () => failure('status', 'broken model') }, 4);
    const measurement = await run.measurement;
    expect(measurement).toMatchObject({ errorRate: 1, stable: false, throughput: { value: 0, low: 0, high: 0 } });
    expect(measurement.failures[0]).toMatchObject({ kind: 'status', firstMessage: 'broken model' });
    expect(JSON.parse(JSON.stringify(measurement))).toEqual(measurement);
    expect(run.clock.nowNs()).toBeLessThan(5e9);
  });

  it('ends when more requests fail than are to be borne, and not before', async () => {
    const outcome = (request: number): SendOutcome =>
      request % 50 === 7 ? failure('status', 'at times') : { ok: true };
    const model = { instances: 4, executionNs: () => 2e6, outcome };
    const borne = await measure(model, 4, { maxErrors: 1000 });
    expect(borne.tooManyErrors).toBeUndefined();
    expect(borne.stable).toBe(true);
    const ended = await measure(model, 4, { maxErrors: 5 });
    expect(ended).toMatchObject({ tooManyErrors: true, stable: false });
    expect(ended.failures).toEqual([{ kind: 'status', count: expect.any(Number), firstMessage: 'at times' }]);
    expect(ended.failures[0]?.count).toBeGreaterThan(5);
    expect(ended.requests).toBeLessThan(borne.requests);
    const none = await measure({ executionNs: () => 1e6, outcome: () => failure('status', 'no') }, 2, { maxErrors: 0 });
    expect(none).toMatchObject({ tooManyErrors: true, errorRate: 1, failures: [{ firstMessage: 'no' }] });
  });

  it('ends with SERVER_UNREACHABLE when the server goes away, at the start or later', async () => {
    for (const servedFirst of [0, 500]) {
      const gone = (request: number): SendOutcome =>
        request < servedFirst ? { ok: true } : failure('refused', 'connection refused');
      const run = simulate({ executionNs: () => 1e6, outcome: gone }, 4);
      await expect(run.measurement).rejects.toMatchObject({ code: 'SERVER_UNREACHABLE' });
      expect(run.server.inFlight).toBe(0);
    }
  });

  it('ends a stalled server by its patience, and says that it did not settle', async () => {
    for (const stalledAt of [90, 150, 600]) {
      const stall = (_: number, execution: number): number => (execution === stalledAt ? 300e9 : 1e6);
      const run = simulate({ executionNs: stall }, 1, { drainMs: 100 });
      const measurement = await run.measurement;
      expect(measurement.stable).toBe(false);
      expect(JSON.parse(JSON.stringify(measurement))).toEqual(measurement);
      expect(run.clock.nowNs()).toBeLessThan(20e9);
    }
  });

  it('stops when interrupted, with nothing left in flight', async () => {
    const controller = new AbortController();
    const run = simulate({ instances: 4, executionNs: () => 2e6 }, 4, { signal: controller.signal });
    run.clock.after(300e6, () => controller.abort(new Error('SIGINT')));
    await expect(run.measurement).rejects.toMatchObject({ code: 'INTERRUPTED' });
    expect(run.server.inFlight).toBe(0);
    expect(run.clock.nowNs()).toBeLessThan(1e9);
    await expect(measure({ executionNs: () => 1e6 }, 1, { signal: controller.signal })).rejects.toMatchObject({
      code: 'INTERRUPTED',
    });
  });

  it('leaves nothing in flight and the transport open for the next level', async () => {
    const run = simulate({ executionNs: () => 1e6 }, 16);
    await run.measurement;
    expect([run.server.inFlight, run.server.mostInFlight, run.server.closed]).toEqual([0, 16, false]);
  });

  it('ends early at a budget that is clearly missed or met, if asked to', async () => {
    const seeded = (): SimulatedModel => {
      const random = seededRandom(9);
      return { executionNs: () => 2e6 * noise(random, 0.5) };
    };
    const whole = await measure(seeded(), 4);
    const p99 = whole.budgetLatencyMs.value;
    const missed = await measure(seeded(), 4, { budgetMs: p99 / 2 });
    expect(missed).toMatchObject({ budgetVerdict: 'missed', stable: true, windows: 2 });
    const met = await measure(seeded(), 4, { budgetMs: p99 * 3, precision: 0.05 });
    expect(met.budgetVerdict).toBe('met');
    expect(met.windows).toBeLessThanOrEqual(whole.windows);
    expect(whole.budgetVerdict).toBeUndefined();
  });

  it('says when the statistics cannot be used: unreadable, or started anew', async () => {
    const unreadable = { statistics: () => Promise.reject(new Error('no statistics here')) };
    const unread = await measure({ executionNs: () => 1e6 }, 1, { stats: unreadable });
    expect(unread).toMatchObject({ server: null, serverNote: 'no statistics here', stable: true });
    const run = simulate({ executionNs: () => 1e6 }, 1);
    run.clock.after(500e6, () => {
      run.server.served = { requests: 0, executions: 0, successNs: 0, queueNs: 0, computeNs: 0 };
    });
    const reset = await run.measurement;
    expect(reset.server).toBeNull();
    expect(reset.serverNote).toMatch(/loaded anew/);
    expect(reset.foreignRequests).toBeUndefined();
  });

  it('gives no figures of a server that ended and came back meanwhile, but does of one that only refuses', async () => {
    const absent = (request: number): SendOutcome =>
      request >= 450 && request < 453 ? failure('refused', 'nobody listens') : { ok: true };
    const whole = await measure({ executionNs: () => 1e6, outcome: absent }, 1);
    expect(whole.failures).toEqual([{ kind: 'refused', count: 3, firstMessage: 'nobody listens' }]);
    const run = simulate({ executionNs: () => 1e6, outcome: absent }, 1);
    run.clock.after(480e6, () => {
      run.server.served = { requests: 0, executions: 0, successNs: 0, queueNs: 0, computeNs: 0 };
    });
    await expect(run.measurement).rejects.toMatchObject({
      code: 'SERVER_UNREACHABLE',
      message: expect.stringContaining('nobody listens'),
    });
    expect(run.server.inFlight).toBe(0);
  });

  it('notices requests of others, and none where there are none', async () => {
    const alone = await measure({ executionNs: () => 1e6 }, 4);
    expect(alone.foreignRequests).toBeUndefined();
    const run = simulate({ executionNs: () => 1e6 }, 4);
    run.clock.after(400e6, () => {
      run.server.served.requests += 250;
    });
    expect((await run.measurement).foreignRequests).toBe(250);
  });

  it('tells its progress and takes the mean of the devices', async () => {
    const progress: ProfileProgress[] = [];
    let reading = 0;
    const measurement = await measure({ executionNs: () => 1e6 }, 1, {
      onProgress: (step) => progress.push(step),
      deviceProbe: async () => ({ gpuUtilizationPercent: 10 * ++reading, gpuMemoryMiB: 100 }),
    });
    expect(progress.map((step) => step.phase)).toEqual(['warm-up', 'window', 'window', 'window']);
    expect(progress.at(-1)).toMatchObject({ window: 3, throughput: expect.closeTo(1000, 6), latencyMs: 1 });
    // Shorter than the server takes to renew its figures: one reading, at the end.
    expect(measurement.device).toEqual({ gpuUtilizationPercent: 10, gpuMemoryMiB: 100 });
    const without = await measure({ executionNs: () => 1e6 }, 1, { deviceProbe: async () => null });
    expect(without.device).toEqual({});
  });

  it('reads the devices every two seconds, and takes the mean', async () => {
    let reading = 0;
    const { device, windows } = await measure({ executionNs: () => 1e6 }, 1, {
      windows: { minWindowMs: 500, minWindows: 18, maxWindows: 18 },
      deviceProbe: async () => ({ gpuUtilizationPercent: 10 * ++reading }),
    });
    expect([windows, reading]).toEqual([18, 4]);
    expect(device).toEqual({ gpuUtilizationPercent: 25 });
  });
});
