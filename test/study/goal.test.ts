import { describe, expect, it } from 'vitest';
import { assess, compareAssessments, isFeasible, missingMetrics, requireMetrics } from '#study/goal/goal.ts';
import { constraintParser, objectiveParser } from '#study/goal/goal-text.ts';
import { gpuAndCostMetrics } from '#study/goal/metrics/cost-metrics.ts';
import { goodput } from '#study/goal/metrics/goodput-metric.ts';
import { builtInMetrics } from '#study/goal/metrics/registry.ts';
import { tokenMetrics } from '#study/goal/metrics/token-metrics.ts';
import { countInstances } from '#triton/config/instances.ts';
import { configOf, goalOf, measured, originalConfig, toCandidate } from './builders.ts';

const candidate = toCandidate(originalConfig);

const parseConstraint = constraintParser(builtInMetrics);
const parseObjective = objectiveParser(builtInMetrics);

describe('constraints and objectives as text', () => {
  it.each([
    ['latency<=8', { metric: 'latency', relation: '<=', value: 8 }],
    ['latency-p50 <= 2.5ms', { metric: 'latency-p50', relation: '<=', value: 2.5 }],
    ['latency<=500us', { metric: 'latency', relation: '<=', value: 0.5 }],
    ['throughput>=1e3', { metric: 'throughput', relation: '>=', value: 1000 }],
    ['gpu-memory<=4GiB', { metric: 'gpu-memory', relation: '<=', value: 4096 }],
    ['error-rate<=1%', { metric: 'error-rate', relation: '<=', value: 0.01 }],
    ['instances<=2', { metric: 'instances', relation: '<=', value: 2 }],
  ])('%s', (text, expected) => {
    expect(parseConstraint(text)).toEqual(expected);
  });

  it.each([
    'latency<8',
    'latency',
    '<=8',
    'latency<=',
    'latency<=x',
    'latencies<=8',
    'latency<=8W',
    'latency<=-1',
    'latency<=1e999',
    'instances<=2constructor',
  ])('refuses %s', (text) => {
    expect(() => parseConstraint(text)).toThrowError(expect.objectContaining({ code: 'USAGE' }));
  });

  it('reads objectives with and without a weight', () => {
    expect(parseObjective('throughput')).toEqual({ metric: 'throughput', weight: 1 });
    expect(parseObjective('gpu-memory:0.5')).toEqual({ metric: 'gpu-memory', weight: 0.5 });
    for (const text of ['', 'speed', 'throughput:0', 'throughput:-1', 'throughput:x', '__proto__']) {
      expect(() => parseObjective(text)).toThrowError(expect.objectContaining({ code: 'USAGE' }));
    }
  });
});

describe('metrics', () => {
  it('reads every one of a full measurement, in its unit', () => {
    const server = {
      queueUs: 1000,
      computeInputUs: 100,
      computeInferUs: 2000,
      computeOutputUs: 400,
      overheadUs: 1,
      inferenceCount: 1,
      executionCount: 1,
      failCount: 0,
      requestUs: 4000,
      successCount: 1,
      cache: { hitCount: 0, hitUs: 0, missCount: 0, missUs: 0 },
      batches: [],
    };
    const device = { gpuUtilizationPercent: 60, gpuMemoryMiB: 2000, gpuPowerW: 300, cpuUtilizationPercent: 40 };
    const full = measured(8, 500, 12, { server, device, errorRate: 0.002 });
    const values = Object.fromEntries(
      builtInMetrics.names.map((name) => [name, builtInMetrics.read(name, full, candidate)]),
    );
    expect(values).toMatchObject({
      throughput: 500,
      latency: 12,
      'latency-avg': 12,
      'latency-p50': 12,
      'latency-p90': 12,
      'latency-p95': 12,
      'latency-p99': 12,
      'latency-max': 12,
      'queue-time': 1,
      'compute-time': 2.5,
      'gpu-memory': 2000,
      'gpu-utilization': 60,
      'gpu-power': 300,
      'cpu-utilization': 40,
      'error-rate': 0.002,
      instances: 1,
      'max-batch-size': 4,
      gpus: 0,
    });
    const unpriced = gpuAndCostMetrics.filter(({ name }) => name !== 'gpus');
    for (const { name } of [...tokenMetrics, goodput, ...unpriced]) expect(values[name], name).toBeUndefined();
    expect(builtInMetrics.named('throughput').better).toBe('higher');
  });

  it('has no value, not a zero, for what was not reported', () => {
    expect(builtInMetrics.read('gpu-memory', measured(1, 1, 1), candidate)).toBeUndefined();
    expect(builtInMetrics.read('queue-time', measured(1, 1, 1), candidate)).toBeUndefined();
    for (const name of ['goodput', 'itl', 'cost-per-hour', 'cost-per-million-tokens'])
      expect(builtInMetrics.read(name, measured(1, 1, 1), candidate), name).toBeUndefined();
    expect(builtInMetrics.read('latency', measured(1, 1, Number.NaN), candidate)).toBeUndefined();
  });

  it('counts instances per listed GPU, over all groups', () => {
    expect(countInstances({})).toBe(1);
    expect(countInstances({ instance_group: [{ count: 2, gpus: [0, 1] }, { count: 3 }] })).toBe(7);
  });
});

describe('the goal', () => {
  it('is met within the budget and missed by the relative excess', () => {
    const goal = goalOf(10, { constraints: [{ metric: 'throughput', relation: '>=', value: 200 }] });
    expect(assess(measured(4, 200, 10), candidate, goal)).toEqual({
      feasible: true,
      violation: 0,
      cost: -Math.log(200),
    });
    expect(assess(measured(4, 100, 15), candidate, goal)).toMatchObject({ feasible: false, violation: 1 });
  });

  it('does not accept more than 1 % of failed requests, unless asked to', () => {
    const failing = measured(4, 200, 5, { errorRate: 0.02 });
    expect(isFeasible(failing, candidate, goalOf(10))).toBe(false);
    const tolerant = goalOf(10, { constraints: [{ metric: 'error-rate', relation: '<=', value: 0.05 }] });
    expect(isFeasible(failing, candidate, tolerant)).toBe(true);
  });

  it('is an error, not a zero, when a metric is missing', () => {
    const goal = goalOf(10, { objectives: [{ metric: 'gpu-memory', weight: 1 }] });
    expect(missingMetrics(measured(4, 200, 5), candidate, goal)).toEqual(['gpu-memory']);
    expect(() => requireMetrics(measured(4, 200, 5), candidate, goal)).toThrowError(
      expect.objectContaining({ code: 'UNSUPPORTED', message: expect.stringContaining('gpu-memory') }),
    );
    expect(() => assess(measured(4, 200, 5), candidate, goal)).toThrow();
    expect(isFeasible(measured(4, 200, 5), candidate, goal)).toBe(false);
  });

  it('is missed without bound by a measurement that served nothing', () => {
    const dead = measured(4, 0, Number.NaN, { errorRate: 1 });
    expect(assess(dead, candidate, goalOf(10)).violation).toBe(Number.POSITIVE_INFINITY);
    expect(missingMetrics(dead, candidate, goalOf(10))).toEqual([]);
  });

  it('takes another percentile from the summary', () => {
    const goal = goalOf(10, { budget: { percentile: 50, latencyMs: 3 } });
    const skewed = measured(4, 200, 20, {
      latencyMs: { avg: 3, p50: 2, p90: 9, p95: 12, p99: 20, max: 30, min: 1, std: 4 },
    });
    expect(isFeasible(skewed, candidate, goal)).toBe(true);
    const unknown = goalOf(10, { budget: { percentile: 99.9, latencyMs: 3 } });
    expect(missingMetrics(skewed, candidate, unknown)).toEqual(['latency']);
  });

  it('weighs objectives by ratios, whatever their units', () => {
    const goal = goalOf(null, {
      objectives: [
        { metric: 'throughput', weight: 2 },
        { metric: 'instances', weight: 1 },
      ],
    });
    const one = assess(measured(1, 100, 1), toCandidate(configOf(1, 4)), goal).cost;
    const doubled = assess(measured(1, 200, 1), toCandidate(configOf(4, 4)), goal).cost;
    expect(doubled).toBeCloseTo(one, 12);
    expect(assess(measured(1, 200, 1), toCandidate(configOf(3, 4)), goal).cost).toBeLessThan(one);
  });

  it('ranks the feasible first, then by the least violation', () => {
    const order = [
      { feasible: false, cost: -9, violation: 0.5 },
      { feasible: true, cost: -1, violation: 0 },
      { feasible: false, cost: -5, violation: 0.1 },
      { feasible: true, cost: -2, violation: 0 },
      { feasible: false, cost: -9, violation: Number.POSITIVE_INFINITY },
    ].sort(compareAssessments);
    expect(order.map((each) => each.cost)).toEqual([-2, -1, -5, -9, -9]);
    expect(order.at(-1)?.violation).toBe(Number.POSITIVE_INFINITY);
  });
});
