import { describe, expect, it } from 'vitest';
import type { FrontMeasurement, Measurement } from '#profiler/measurement.ts';
import type { ServerBreakdown } from '#profiler/server-figures.ts';
import { jointOriginal } from '#space/joint/joint-space.ts';
import type { Topology } from '#space/topology.ts';
import { assess, costHalfWidth, missedConstraints, requireMetrics } from '#study/goal/goal.ts';
import { budgetsOfModels, goalOverModels } from '#study/goal/goal-of-models.ts';
import { constraintParser, objectiveParser } from '#study/goal/goal-text.ts';
import { listColumns } from '#study/goal/metrics/columns.ts';
import { builtInMetrics } from '#study/goal/metrics/registry.ts';
import type { Goal } from '#study/types.ts';
import { goalOf, measured } from './builders.ts';

const breakdown = (queueUs: number, computeInferUs: number, count = 200): ServerBreakdown => ({
  queueUs,
  computeInputUs: 0,
  computeInferUs,
  computeOutputUs: 0,
  overheadUs: 0,
  requestUs: queueUs + computeInferUs,
  successCount: count,
  inferenceCount: count,
  executionCount: count / 2,
  failCount: 0,
  cache: { hitCount: 0, hitUs: 0, missCount: 0, missUs: 0 },
  batches: [],
});

const front = (model: string, throughput: number, p99: number, change: Partial<FrontMeasurement> = {}) => {
  const own = measured(4, throughput, p99);
  const { level, latencyMs, budgetLatencyMs, stable, durationMs, requests, sendRate, failures, errorRate } = own;
  const seen = { level, latencyMs, budgetLatencyMs, stable, durationMs, requests, sendRate, failures, errorRate };
  return { model, ...seen, throughput: own.throughput, server: breakdown(1000, 3000), ...change };
};

const candidate = jointOriginal(
  {
    a: { name: 'a', max_batch_size: 4, instance_group: [{ kind: 'KIND_CPU', count: 2 }] },
    b: { name: 'b', max_batch_size: 8, instance_group: [{ kind: 'KIND_CPU', count: 3 }] },
  },
  {},
  'a',
);

const mix: Measurement = {
  ...measured(8, 400, 12, { device: { gpuMemoryMiB: 900 } }),
  fronts: [front('a', 300, 5), front('b', 100, 14)],
};
const pipeline: Measurement = {
  ...measured(8, 400, 12, { durationMs: 1000 }),
  composing: [{ model: 'a', version: '1', ...breakdown(2000, 5000, 400) }],
};

const topology: Topology = {
  fronts: [
    { model: 'a', steps: [{ stage: 'a' }], share: 3 },
    { model: 'b', steps: [{ stage: 'b' }] },
  ],
  stages: ['a', 'b'],
};
const budgetsOf = (budgets: Readonly<Record<string, number>>) =>
  Object.entries(budgets).map(([model, ms]) => constraintParser(builtInMetrics)(`latency@${model}<=${ms}`));
const read = (name: string, measurement: Measurement) => builtInMetrics.read(name, measurement, candidate);

describe('METRIC@MODEL', () => {
  it('is what the clients of that model see, where it has some', () => {
    expect(['throughput@a', 'throughput@b', 'throughput'].map((name) => read(name, mix))).toEqual([300, 100, 400]);
    expect(['latency@a', 'latency@b', 'latency'].map((name) => read(name, mix))).toEqual([5, 14, 12]);
    expect([read('queue-time@b', mix), read('compute-time@b', mix)]).toEqual([1, 3]);
    expect([read('instances@a', mix), read('instances@b', mix), read('instances', mix)]).toEqual([2, 3, 5]);
    expect(read('max-batch-size@b', mix)).toBe(8);
    expect(read('latency@c', mix)).toBeUndefined();
  });

  it('is what the server tells of a model inside a pipeline: means only', () => {
    expect([read('latency@a', pipeline), read('latency-avg@a', pipeline)]).toEqual([7, 7]);
    expect([read('queue-time@a', pipeline), read('throughput@a', pipeline)]).toEqual([2, 400]);
    expect(read('latency-p99@a', pipeline)).toBeUndefined();
    const goal: Goal = { ...goalOf(20), constraints: [constraintParser(builtInMetrics)('latency-p99@a<=3')] };
    expect(() => requireMetrics(pipeline, candidate, goal)).toThrowError(/tells only the mean, latency@a/);
  });

  it('counts a stage of several fronts where it is found', () => {
    const composing = [{ model: 'shared', version: '1', ...breakdown(10, 20) }];
    const both: Measurement = { ...mix, fronts: [front('a', 300, 5, { composing }), front('b', 100, 14)] };
    expect(read('queue-time@shared', both)).toBe(0.01);
  });

  it('is parsed from the first @, whatever the model is called', () => {
    const parse = constraintParser(builtInMetrics);
    expect(parse('latency@a<=10ms')).toEqual({ metric: 'latency@a', relation: '<=', value: 10 });
    expect(parse(' queue-time@x<=y: z@w >= 2s')).toEqual({
      metric: 'queue-time@x<=y: z@w',
      relation: '>=',
      value: 2000,
    });
    const objective = objectiveParser(builtInMetrics);
    expect(objective('throughput@a:3')).toEqual({ metric: 'throughput@a', weight: 3 });
    expect(objective('throughput@a:3:2')).toEqual({ metric: 'throughput@a:3', weight: 2 });
    expect(objective('throughput@a b')).toEqual({ metric: 'throughput@a b', weight: 1 });
    for (const wrong of ['latency@<=3', 'nothing@a<=3', 'gpu-memory@a<=3', '@a<=3'])
      expect(() => parse(wrong)).toThrowError(expect.objectContaining({ code: 'USAGE' }));
    expect(() => parse('gpu-memory@a<=3')).toThrowError('gpu-memory is a figure of the whole server');
  });

  it('takes a share as a fraction or in percent, and refuses one above the whole', () => {
    const parse = constraintParser(builtInMetrics);
    expect(parse('error-rate<=3%').value).toBeCloseTo(0.03);
    expect(parse('error-rate<=0.03').value).toBe(0.03);
    expect(() => parse('error-rate<=3')).toThrowError(/'error-rate<=3' is 300 %/);
  });

  it('has columns of its own', () => {
    const columns = ['throughput@a b', 'gpu-memory'].flatMap((name) => listColumns(builtInMetrics.named(name)));
    expect(columns.map(({ name }) => name)).toEqual([
      ...['throughput_infer_per_s@a b', 'throughput_low@a b', 'throughput_high@a b'],
      'gpu_memory_mib',
    ]);
    const [throughput] = listColumns(builtInMetrics.named('throughput@b'));
    expect(throughput?.read(mix, candidate)).toBe(100);
  });
});

describe('a goal over models', () => {
  it('has a budget for each model, and for the whole', () => {
    const goal: Goal = { ...goalOf(20), constraints: budgetsOf({ a: 10, b: 13 }) };
    expect(missedConstraints(mix, candidate, goal)).toEqual([{ metric: 'latency@b', relation: '<=', value: 13 }]);
    expect(budgetsOfModels({ constraints: [...goal.constraints, ...budgetsOf({ a: 8 })] })).toEqual({ a: 8, b: 13 });
    expect(assess(mix, candidate, goal).violation).toBeCloseTo(1 / 13, 9);
  });

  it('weighs throughputs as logarithms, by the shares', () => {
    const goal: Goal = {
      ...goalOf(20),
      objectives: ['throughput@a:3', 'throughput@b'].map(objectiveParser(builtInMetrics)),
    };
    expect(assess(mix, candidate, goal).cost).toBeCloseTo(-(3 * Math.log(300) + Math.log(100)) / 4, 9);
    expect(costHalfWidth(mix, candidate, goal)).toBeGreaterThan(0);
  });

  it('may look for the fewest instances that serve a mix', () => {
    const parse = constraintParser(builtInMetrics);
    const goal: Goal = {
      ...goalOf(20, { constraints: ['throughput@a>=250', 'throughput@b>=120'].map(parse) }),
      objectives: [{ metric: 'instances', weight: 1 }],
    };
    expect(missedConstraints(mix, candidate, goal).map(({ metric }) => metric)).toEqual(['throughput@b']);
    expect(assess(mix, candidate, goal).cost).toBeCloseTo(Math.log(5), 9);
  });

  it('is about the models of the study; what is asked of the only front is asked of the whole', () => {
    const goal: Goal = { ...goalOf(20), constraints: budgetsOf({ a: 10, judge: 40 }) };
    const piped: Topology = { fronts: [{ model: 'judge', steps: [{ stage: 'a' }] }], stages: ['a'] };
    expect(goalOverModels(goal, piped).constraints.map(({ metric }) => metric)).toEqual(['latency@a', 'latency']);
    expect(() => goalOverModels(goal, topology)).toThrowError(/'judge', but it is not tuned in this study/);
    expect(() => goalOverModels(goal, undefined)).toThrowError(/only one model/);
    expect(goalOverModels(goalOf(20), undefined).objectives).toEqual([{ metric: 'throughput', weight: 1 }]);
  });
});
