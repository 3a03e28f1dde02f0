import { describe, expect, it } from 'vitest';
import { seededRandom, standardNormal } from '#base/random.ts';
import type { ClientWatch } from '#loadgen/client/cost.ts';
import type { LoadLevel, SendOutcome } from '#loadgen/types.ts';
import { type FrontOptions, measureMix } from '#profiler/measure-mix.ts';
import type { Measurement } from '#profiler/measurement.ts';
import type { ProfileProgress } from '#profiler/progress.ts';
import { aRequestSet, SimulatedClock, type SimulatedModel, SimulatedServer } from '../loadgen/simulation.ts';
import { idleClient } from './simulate.ts';

interface Mixed extends SimulatedModel {
  readonly level: number | LoadLevel;
  readonly own?: Partial<FrontOptions>;
}

type MixOptions = Parameters<typeof measureMix>[0];

/** Measures models of one server in memory, `a`, `b` and so on, in virtual time. */
function simulateMix(models: readonly Mixed[], change: Partial<MixOptions> = {}) {
  const clock = new SimulatedClock();
  const servers = models.map((model) => new SimulatedServer(clock, model));
  const fronts = models.map(({ level, own }, index): FrontOptions => {
    const server = servers[index] as SimulatedServer;
    const model = 'abc'[index] as string;
    return {
      transport: server,
      requests: { ...aRequestSet, model },
      level: typeof level === 'number' ? { mode: 'concurrency', value: level } : level,
      stats: server,
      ...own,
    };
  });
  const asked: MixOptions = {
    level: { mode: 'concurrency', value: 8 },
    clock,
    signal: new AbortController().signal,
    percentile: 99,
    watchClient: () => idleClient,
    ...change,
  };
  return { clock, servers, measurement: measureMix(asked, fronts) };
}

const measure = (models: readonly Mixed[], change: Partial<MixOptions> = {}): Promise<Measurement> =>
  simulateMix(models, change).measurement;

const refused: SendOutcome = { ok: false, kind: 'refused', message: 'connection refused' };

/** Lognormal with mean 1. */
function noisy(seed: number, sigma: number): () => number {
  const random = seededRandom(seed);
  return () => Math.exp(sigma * standardNormal(random) - sigma ** 2 / 2);
}

describe('measureMix', () => {
  it('gives the figures of all requests together, and those of each model', async () => {
    const { level, throughput, latencyMs, budgetLatencyMs, fronts, stable, requests } = await measure([
      { level: 6, executionNs: () => 2e6 },
      { level: 2, executionNs: () => 10e6 },
    ]);
    expect(level).toEqual({ mode: 'concurrency', value: 8 });
    expect(throughput.value).toBeCloseTo(600, 6);
    expect(stable).toBe(true);
    // 500 requests a second take 12 ms, 100 take 20 ms, however long each was counted.
    expect(latencyMs.avg).toBeCloseTo((500 * 12 + 100 * 20) / 600, 1);
    expect(latencyMs.p50).toBeCloseTo(12, 1);
    expect(budgetLatencyMs).toMatchObject({ percentile: 99, value: expect.closeTo(20, 1) });
    expect(fronts?.map((front) => [front.model, front.level.value, Math.round(front.throughput.value)])).toEqual([
      ['a', 6, 500],
      ['b', 2, 100],
    ]);
    expect(fronts?.map(({ latencyMs: { p99 } }) => Math.round(p99))).toEqual([12, 20]);
    expect(requests).toBe((fronts ?? []).reduce((sum, front) => sum + front.requests, 0));
  });

  it('weighs each model by its rate, though one was counted for much longer', async () => {
    const slow = noisy(3, 1.2);
    const measurement = await measure([
      { level: 1, executionNs: () => 1e6 },
      { level: 1, executionNs: () => 9e6 * slow() },
    ]);
    const [a, b] = measurement.fronts ?? [];
    expect((b?.requests ?? 0) / (a?.requests ?? 1)).toBeGreaterThan(0.2);
    const rates = [a?.throughput.value ?? 0, b?.throughput.value ?? 0] as const;
    const mean = (rates[0] * (a?.latencyMs.avg ?? 0) + rates[1] * (b?.latencyMs.avg ?? 0)) / (rates[0] + rates[1]);
    expect(measurement.latencyMs.avg / mean).toBeCloseTo(1, 1);
    expect(measurement.latencyMs.p50).toBeCloseTo(1, 1);
  });

  it('goes on with the traffic of each until all have been counted', async () => {
    const wild = noisy(4, 1.5);
    const run = simulateMix([
      { level: 1, executionNs: () => 1e6 },
      { level: 4, executionNs: () => 3e6 * wild() },
    ]);
    const { fronts, stable, durationMs } = await run.measurement;
    expect([stable, ...(fronts ?? []).map((front) => front.stable)]).toEqual([false, true, false]);
    // The steady one was busy the whole time, and was counted for a part of it.
    const busy = (run.servers[0]?.served.computeNs ?? 0) / run.clock.nowNs();
    expect(busy).toBeGreaterThan(0.95);
    expect((fronts?.[0]?.requests ?? 0) / durationMs).toBeLessThan(0.5);
  });

  it('counts nothing of one model before the other is warm', async () => {
    const now = (): number => run.clock.nowNs();
    const run = simulateMix([
      // Slower while the other warms up.
      { level: 1, executionNs: () => (now() < 1.4e9 ? 4e6 : 2e6) },
      { level: 1, executionNs: () => 2e6 * (1 + 20 * Math.exp(-now() / 0.4e9)) },
    ]);
    expect((await run.measurement).fronts?.[0]?.latencyMs.max).toBeLessThan(2.1);
  });

  it('keeps a model at a fixed rate beside one whose requests in flight are given', async () => {
    const measurement = await measure([
      { level: 4, executionNs: () => 2e6 },
      { level: { mode: 'request-rate', value: 40 }, executionNs: () => 5e6 },
    ]);
    const [a, b] = measurement.fronts ?? [];
    expect(a?.throughput.value).toBeCloseTo(500, 6);
    expect(b?.throughput.value).toBeCloseTo(40, 3);
    expect([a?.openLoop, measurement.openLoop]).toEqual([undefined, undefined]);
    expect(b?.openLoop?.scheduledLatencyMs.p50).toBeCloseTo(5, 1);
    expect(measurement.throughput.value).toBeCloseTo(540, 3);
  });

  it('sends rates to all where rates are asked for', async () => {
    const rate = (value: number): LoadLevel => ({ mode: 'request-rate', value });
    const measurement = await measure(
      [
        { level: rate(100), executionNs: () => 2e6 },
        { level: rate(50), executionNs: () => 8e6 },
      ],
      { level: rate(150) },
    );
    expect(measurement.throughput.value).toBeCloseTo(150, 3);
    expect(measurement.openLoop?.achievedRate).toBeCloseTo(150, 0);
    expect(measurement.openLoop?.scheduledLatencyMs.avg).toBeCloseTo((100 * 2 + 50 * 8) / 150, 1);
  });

  it('ends for all, with nothing in flight, when one is gone', async () => {
    const run = simulateMix([
      { level: 4, executionNs: () => 1e6 },
      { level: 2, executionNs: () => 1e6, outcome: (request) => (request < 900 ? { ok: true } : refused) },
    ]);
    await expect(run.measurement).rejects.toMatchObject({ code: 'SERVER_UNREACHABLE' });
    expect(run.servers.map(({ inFlight }) => inFlight)).toEqual([0, 0]);
  });

  it('ends for all when interrupted, also where one waits for the other', async () => {
    const controller = new AbortController();
    const run = simulateMix(
      [
        { level: 1, executionNs: () => 1e6 },
        { level: 1, executionNs: () => 900e6 },
      ],
      { signal: controller.signal },
    );
    run.clock.after(2e9, () => controller.abort(new Error('SIGINT')));
    await expect(run.measurement).rejects.toMatchObject({ code: 'INTERRUPTED' });
    expect(run.clock.nowNs()).toBeLessThan(4e9);
  });

  it('has the error rate of the model that fails, however many requests the others answer', async () => {
    const broken: SendOutcome = { ok: false, kind: 'status', message: 'broken' };
    const measurement = await measure([
      { level: 8, executionNs: () => 1e6 },
      { level: 1, executionNs: () => 1e6, outcome: () => broken, failAfterNs: 50e6 },
    ]);
    expect(measurement).toMatchObject({ errorRate: 1, stable: false });
    expect(measurement.throughput.value).toBeCloseTo(1000, 3);
    expect(measurement.failures).toMatchObject([{ kind: 'status', firstMessage: 'broken' }]);
  });

  it('judges foreign traffic for each model', async () => {
    const run = simulateMix([
      { level: 2, executionNs: () => 1e6 },
      { level: 2, executionNs: () => 1e6 },
    ]);
    run.clock.after(400e6, () => {
      const served = run.servers[1]?.served;
      if (served) served.requests += 250;
    });
    const { foreignRequests, foreignByModel, fronts } = await run.measurement;
    expect({ foreignRequests, foreignByModel }).toEqual({ foreignRequests: 250, foreignByModel: { b: 250 } });
    expect(fronts?.map((front) => front.foreignRequests)).toEqual([undefined, 250]);
  });

  it('takes no call of one front to a model of another for the traffic of others', async () => {
    const run = simulateMix([
      { level: 2, executionNs: () => 1e6, own: { timesPerRequest: new Map([['b', null]]) } },
      { level: 2, executionNs: () => 1e6 },
    ]);
    run.clock.after(400e6, () => {
      const served = run.servers[1]?.served;
      if (served) served.requests += 250;
    });
    expect((await run.measurement).foreignRequests).toBeUndefined();
  });

  it('counts the CPU of the client once, and says for which model it was the limit', async () => {
    const busy: ClientWatch = {
      ...idleClient,
      read: () => ({ cpuUs: 1e6, cpuShare: 0.95, loopShare: 0.5, longestDelayMs: 0, medianDelayMs: 0 }),
    };
    const { client, durationMs, throughput } = await measure(
      [
        { level: 2, executionNs: () => 1e6 },
        { level: { mode: 'request-rate', value: 100 }, executionNs: () => 1e6 },
      ],
      { watchClient: () => busy },
    );
    expect(client).toMatchObject({ bound: true, reason: expect.stringMatching(/^a: its CPU was busy/) });
    expect(client.cpuUsPerRequest).toBeCloseTo(1e6 / ((throughput.value * durationMs) / 1e3), -1);
  });

  it('has a verdict on the budget by all requests together', async () => {
    const models = [
      { level: 6, executionNs: () => 2e6 },
      { level: 2, executionNs: () => 10e6 },
    ];
    expect((await measure(models, { budgetMs: 15 })).budgetVerdict).toBe('missed');
    const own = [{ ...models[0], own: { budgetMs: 1 } }, models[1]] as const;
    const { budgetVerdict } = await measure(own as readonly Mixed[]);
    expect(budgetVerdict).toBeUndefined();
  });

  it('tells its progress once all have one', async () => {
    const progress: ProfileProgress[] = [];
    await measure(
      [
        { level: 6, executionNs: () => 2e6 },
        { level: 2, executionNs: () => 10e6 },
      ],
      { onProgress: (step) => progress.push(step) },
    );
    expect(progress.filter(({ phase }) => phase === 'warm-up')).toHaveLength(1);
    expect(progress.at(-1)).toMatchObject({
      phase: 'window',
      throughput: expect.closeTo(600, 0),
      latencyMs: expect.closeTo(20, 1),
      fronts: [
        { model: 'a', latencyMs: expect.closeTo(12, 1) },
        { model: 'b', throughput: expect.closeTo(100, 0) },
      ],
    });
  });
});
