import { describe, expect, it } from 'vitest';
import type { Measurement, WorkloadMeasurement } from '#profiler/measurement.ts';
import type { ServerBreakdown } from '#profiler/server-figures.ts';
import type { TokenFigures } from '#profiler/token-figures.ts';
import { robustMeasurement } from '#profiler/workloads/robust-measurement.ts';
import { parseRobustRule } from '#workload/robust-rule.ts';
import { measured } from '../study/builders.ts';

const server = (queueUs: number, successCount: number, batches: ServerBreakdown['batches']): ServerBreakdown => ({
  queueUs,
  computeInputUs: 1,
  computeInferUs: 10,
  computeOutputUs: 1,
  overheadUs: 0,
  requestUs: queueUs + 12,
  successCount,
  inferenceCount: successCount,
  executionCount: batches.reduce((sum, { executions }) => sum + executions, 0),
  failCount: 0,
  cache: { hitCount: 0, hitUs: 0, missCount: 0, missUs: 0 },
  batches,
});

const under = (
  workload: string,
  weight: number,
  rate: number,
  {
    throughput,
    latencyMs,
    ...more
  }: { throughput: number; latencyMs: number } & Partial<Omit<Measurement, 'throughput' | 'latencyMs'>>,
): WorkloadMeasurement => ({
  ...measured(rate, throughput, latencyMs, { level: { mode: 'request-rate', value: rate }, ...more }),
  workload,
  weight,
});

const level = { mode: 'request-rate', value: 100 } as const;
const steady = under('steady', 3, 100, {
  throughput: 100,
  latencyMs: 10,
  goodput: { value: 100, low: 99, high: 100 },
  server: server(5, 300, [
    { size: 1, executions: 100, meanExecutionUs: 1000 },
    { size: 2, executions: 100, meanExecutionUs: 1500 },
  ]),
});
// Asks for half of the rate of the first, and gets three quarters of that.
const burst = under('burst', 1, 50, {
  throughput: 37.5,
  latencyMs: 50,
  goodput: { value: 20, low: 15, high: 25 },
  errorRate: 0.25,
  failures: [{ kind: 'dropped', count: 10, firstMessage: 'too many in flight' }],
  server: server(45, 100, [{ size: 2, executions: 50, meanExecutionUs: 3000 }]),
});

describe('robustMeasurement', () => {
  it('takes the worst of each figure, rates in relation to what each workload asks for', () => {
    const worst = robustMeasurement({ kind: 'worst' }, level, [steady, burst]);
    expect(worst.level).toEqual(level);
    expect(worst.throughput.value).toBeCloseTo(75, 9);
    expect(worst.goodput).toEqual({ value: 40, low: 30, high: 50 });
    expect(worst.budgetLatencyMs).toEqual({ value: 50, low: 49, high: 51, percentile: 99 });
    expect(worst.latencyMs.p50).toBe(50);
    expect(worst.errorRate).toBe(0.25);
    expect(worst.failures).toEqual(burst.failures);
    expect(worst.workloads).toEqual([steady, burst]);
  });

  it('puts the figures of tokens together too: rates in relation to what each workload asks for, lengths over all requests', () => {
    const tokensOf = (ms: number, perSecond: number, outputMean: number): TokenFigures => {
      const times = { avg: ms, p50: ms, p90: ms, p95: ms, p99: ms, max: ms, min: ms, std: 0 };
      const interval = (value: number) => ({ value, low: value, high: value });
      const length = (mean: number) => ({ mean, std: 0, min: mean, max: mean });
      return {
        ttftMs: times,
        itlMs: times,
        tpotMs: times,
        budget: { ttftMs: interval(ms), itlMs: interval(ms), tpotMs: interval(ms) },
        outputTokensPerSecond: interval(perSecond),
        totalTokensPerSecond: interval(2 * perSecond),
        outputTokensPerSecondPerUser: 1000 / ms,
        inputTokens: length(8),
        outputTokens: length(outputMean),
        countedBy: 'usage',
        cutOff: 1,
      };
    };
    const parts = [
      { ...steady, requests: 300, tokens: tokensOf(10, 400, 4) },
      { ...burst, requests: 100, tokens: tokensOf(40, 150, 8) },
    ];
    const { tokens } = robustMeasurement({ kind: 'worst' }, level, parts);
    expect(tokens?.ttftMs.p99).toBe(40);
    expect(tokens?.budget.itlMs.value).toBe(40);
    // 150 a second of half of the requests are worth 300 of all.
    expect(tokens?.outputTokensPerSecond.value).toBe(300);
    expect(tokens?.outputTokensPerSecondPerUser).toBe(25);
    expect(tokens?.outputTokens).toMatchObject({ mean: 5, min: 4, max: 8 });
    expect(tokens?.outputTokens.std).toBeCloseTo(Math.sqrt(3), 9);
    expect(tokens?.cutOff).toBe(2);
    expect(robustMeasurement({ kind: 'worst' }, level, [steady, burst]).tokens).toBeUndefined();
  });

  it('takes the mean by weights, with the errors of independent estimates', () => {
    const mean = robustMeasurement({ kind: 'mean' }, level, [steady, burst]);
    expect(mean.throughput.value).toBeCloseTo(0.75 * 100 + 0.25 * 75, 9);
    expect(mean.budgetLatencyMs.value).toBeCloseTo(0.75 * 10 + 0.25 * 50, 9);
    expect(mean.budgetLatencyMs.high - mean.budgetLatencyMs.value).toBeCloseTo(Math.hypot(0.75 * 0.2, 0.25 * 1), 9);
  });

  it('takes the figure that a share of the weight has or betters', () => {
    const half = robustMeasurement(parseRobustRule('quantile:0.75'), level, [steady, burst]);
    expect([half.throughput.value, half.budgetLatencyMs.value]).toEqual([100, 10]);
    const most = robustMeasurement(parseRobustRule('quantile:0.8'), level, [steady, burst]);
    expect([most.throughput.value, most.budgetLatencyMs.value]).toEqual([75, 50]);
  });

  it('adds up what the server counted, by batch size', () => {
    const { server: whole, requests, durationMs } = robustMeasurement({ kind: 'worst' }, level, [steady, burst]);
    expect(whole?.successCount).toBe(400);
    // Of the workload with the longest mean latency; of a mean the mean.
    expect(whole?.queueUs).toBe(45);
    expect(robustMeasurement({ kind: 'mean' }, level, [steady, burst]).server?.queueUs).toBeCloseTo(15, 9);
    expect(whole?.batches).toEqual([
      { size: 1, executions: 100, meanExecutionUs: 1000 },
      { size: 2, executions: 150, meanExecutionUs: 2000 },
    ]);
    expect([requests, durationMs]).toEqual([2000, 3000]);
  });

  it('serves nothing where it served nothing under one of them', () => {
    const nothing = under('night', 1, 10, { throughput: 0, latencyMs: Number.NaN, errorRate: 1 });
    const mean = robustMeasurement({ kind: 'mean' }, level, [steady, nothing]);
    expect(mean.throughput).toEqual({ value: 0, low: 0, high: 0 });
    expect(mean.budgetLatencyMs.value).toBe(10);
    expect(mean.server).toBeNull();
  });

  it('is the client limit where one of them was', () => {
    const bound = under('bound', 1, 100, {
      throughput: 90,
      latencyMs: 12,
      client: { cpuUsPerRequest: 40, eventLoopDelayMs: 9, bound: true, reason: 'its CPU' },
    });
    const { client } = robustMeasurement({ kind: 'mean' }, level, [steady, bound]);
    expect(client).toMatchObject({ bound: true, reason: 'its CPU', cpuUsPerRequest: 30, eventLoopDelayMs: 9 });
  });

  it('puts the figures of each front together', () => {
    const frontOf = (part: WorkloadMeasurement) => ({ ...part, fronts: [{ ...part, model: 'm' }] });
    const { fronts } = robustMeasurement({ kind: 'worst' }, level, [frontOf(steady), frontOf(burst)]);
    expect(
      fronts?.map(({ model, throughput, budgetLatencyMs }) => [model, throughput.value, budgetLatencyMs.value]),
    ).toEqual([['m', 75, 50]]);
  });
});
