import { describe, expect, it } from 'vitest';
import { readGateDocument } from '#report/gate/readings.ts';
import type { Candidate } from '#space/types.ts';
import { assess, costOfServed, followsFromThroughput, goalOfLevels } from '#study/goal/goal.ts';
import { goalOverModels } from '#study/goal/goal-of-models.ts';
import { toMetrics } from '#study/goal/metrics/registry.ts';
import { tableMetrics } from '#study/goal/metrics/shown.ts';
import { computeStanding } from '#study/goal/ranking.ts';
import type { CostTerms } from '#study/records/goal-schema.ts';
import { checkRecord } from '#study/records/record-schema.ts';
import { describeCost, describeCostShare, toCostPoint } from '#study/summary/cost-point.ts';
import type { Goal } from '#study/types.ts';
import { goalOf, measured, originalConfig, studyStarted, toCandidate } from './builders.ts';

const terms: CostTerms = {
  currency: 'EUR',
  name: 'L4',
  per: 'gpu',
  perHour: 2,
  forRate: 1000,
  headroom: 0,
  chance: 0.5,
};
const goalFor = (more: Partial<CostTerms> = {}, metric = 'cost-per-hour'): Goal =>
  goalOf(20, { cost: { ...terms, ...more }, objectives: [{ metric, weight: 1 }] });

const onGpus = (gpus: readonly number[], count = 1): Candidate =>
  toCandidate({ ...originalConfig, instance_group: [{ kind: 'KIND_GPU', count, gpus: [...gpus] }] });
/** Throughput with an interval of ±10 %. */
const at = (throughput: number, level = 8) =>
  measured(level, throughput, 5, { throughput: { value: throughput, low: 0.9 * throughput, high: 1.1 * throughput } });
const read = (goal: Goal, name: string, throughput: number, candidate: Candidate): number | undefined =>
  toMetrics(goal).read(name, at(throughput), candidate);

describe('GPUs of a candidate', () => {
  const gpus = (candidate: Candidate, device = {}): number | undefined =>
    toMetrics(goalOf(20)).read('gpus', measured(1, 1, 1, { device }), candidate);
  const four = { gpus: ['a', 'b', 'c', 'd'].map((uuid) => ({ uuid })) };

  it('are those that its groups name, each once, however many instances they have', () => {
    expect(gpus(onGpus([0, 2], 3))).toBe(2);
    const groups = [
      { kind: 'KIND_GPU', count: 1, gpus: [0, 1] },
      { kind: 'KIND_GPU', count: 2, gpus: [1, 3] },
    ] as const;
    expect(
      gpus(
        toCandidate({ ...originalConfig, instance_group: groups.map((each) => ({ ...each, gpus: [...each.gpus] })) }),
      ),
    ).toBe(3);
  });

  it('are all that the server shows where a group names none, none on the CPU, and unknown where nothing tells', () => {
    const anywhere = toCandidate({ ...originalConfig, instance_group: [{ kind: 'KIND_GPU', count: 1 }] });
    expect([gpus(anywhere, four), gpus(anywhere)]).toEqual([4, undefined]);
    expect(gpus(toCandidate({ ...originalConfig, instance_group: [{ kind: 'KIND_CPU', count: 2 }] }), four)).toBe(0);
    const told = goalFor({ serverGpus: 2 });
    expect(read(told, 'gpus', 1, anywhere)).toBe(2);
  });

  it('of an engine are its parallel sizes', () => {
    const plain = toCandidate(originalConfig);
    expect(gpus({ ...plain, shape: { ...plain.shape, parallelGpus: 8 } })).toBe(8);
  });

  it('of models that are tuned together are the GPUs of all', () => {
    const [a, b] = [onGpus([0, 1]).shape, onGpus([1, 2]).shape];
    const both = { ...onGpus([0, 1]), shape: { ...a, members: { a, b } } };
    expect(gpus(both)).toBe(3);
  });
});

describe('costs', () => {
  it('are the price of what a candidate occupies, by whole replicas', () => {
    const goal = goalFor();
    expect(read(goal, 'replicas', 400, onGpus([0]))).toBe(3);
    expect(read(goal, 'cost-per-hour', 400, onGpus([0]))).toBe(6);
    expect(read(goal, 'cost-per-hour', 400, onGpus([0, 1]))).toBe(12);
    expect(read(goalFor({ per: 'server', perHour: 5 }), 'cost-per-hour', 400, onGpus([0, 1]))).toBe(15);
    expect(read(goalFor({ forRate: undefined }), 'cost-per-hour', 400, onGpus([0, 1]))).toBe(4);
    expect(read(goalFor({ headroom: 0.5 }), 'replicas', 400, onGpus([0]))).toBe(5);
    expect(read(goalFor({ chance: 0.95 }), 'replicas', 505, onGpus([0]))).toBe(3);
  });

  it('of a million have the interval of the throughput, its ends the other way round', () => {
    const goal = goalFor({}, 'cost-per-million');
    const candidate = onGpus([0, 1]);
    const of = (perSecond: number): number => (4 / (3600 * perSecond)) * 1e6;
    expect(read(goal, 'cost-per-million', 400, candidate)).toBeCloseTo(of(400), 9);
    const interval = toMetrics(goal).named('cost-per-million').interval?.of(at(400), candidate);
    expect(interval?.low).toBeCloseTo(of(440), 9);
    expect(interval?.high).toBeCloseTo(of(360), 9);
  });

  it('for rates by model are decided by the scarcest', () => {
    const own = (model: string, throughput: number) => ({ ...at(throughput), model });
    const mix = measured(8, 500, 5, { fronts: [own('a', 400), own('b', 100)] });
    const goal = goalFor({ forRate: { a: 800, b: 450 } });
    expect(toMetrics(goal).read('replicas', mix, onGpus([0]))).toBe(5);
    const topology = {
      fronts: [
        { model: 'a', steps: [] },
        { model: 'b', steps: [] },
      ],
      stages: ['a', 'b'],
    };
    expect(() => goalOverModels(goalFor({ forRate: { c: 1 } }), topology as never)).toThrowError(/'c'/);
  });

  it('are not known without prices, and no columns of tables then', () => {
    const goal = goalOf(20);
    expect(toMetrics(goal).read('cost-per-hour', at(400), onGpus([0]))).toBeUndefined();
    const names = (of: Goal): readonly string[] => tableMetrics(toMetrics(of), [at(1)]).map(({ name }) => name);
    expect(names(goal)).not.toContain('cost-per-hour');
    expect(names(goal)).toContain('gpus');
    const priced = names(goalFor()).filter((name) => !names(goal).includes(name));
    expect(priced).toEqual(['cost-per-hour', 'cost-per-million', 'replicas']);
    const costs = ['gpus', ...priced];
    expect(names(goalFor()).filter((name) => costs.includes(name))).toEqual(costs);
  });
});

describe('a goal of the least cost for a rate', () => {
  it('prefers fewer replicas for their price, and of equal costs the smaller load on each', () => {
    const goal = goalFor();
    const cost = (throughput: number, gpus: readonly number[]): number =>
      assess(at(throughput), onGpus(gpus), goal).cost;
    // Two servers of one GPU, or one of two: four euros each. More throughput leaves more to spare.
    expect(cost(510, [0])).toBeCloseTo(cost(1020, [0, 1]), 2);
    expect(cost(900, [0])).toBeLessThan(cost(510, [0]));
    expect(cost(1020, [0, 1])).toBeLessThan(cost(900, [0, 1]));
    // A server that just misses it is twice as dear, whatever its price for each inference.
    expect(cost(999, [0])).toBeGreaterThan(cost(700, [0]) - 0.01);
  });

  it('takes a candidate at its highest throughput within the budget, although fewer would cost as much', () => {
    const goal = goalFor();
    const levels = [at(520, 4), at(700, 8), measured(16, 2000, 30)];
    expect(computeStanding(levels, onGpus([0]), goal)).toEqual({ chosen: 1, feasible: true });
    expect(goalOfLevels(goal).objectives).toEqual([{ metric: 'throughput', weight: 1 }]);
    expect(followsFromThroughput(goal)).toBe(true);
    expect([goalOf(20), goalFor({ forRate: undefined })].map(followsFromThroughput)).toEqual([false, false]);
  });

  it('counts a candidate by what it is known to serve in place of what one measurement found', () => {
    const goal = goalFor();
    expect(costOfServed(Math.log(400), at(1200), onGpus([0]), goal)).toBeCloseTo(
      assess(at(400), onGpus([0]), goal).cost,
      9,
    );
  });

  it('stands in the journal, and is read again', () => {
    const goal = goalFor();
    const outcome = checkRecord(JSON.parse(JSON.stringify(studyStarted(goal))));
    expect(outcome).toMatchObject({ record: { goal: { cost: terms } } });
    const wrong = checkRecord(JSON.parse(JSON.stringify(studyStarted(goalFor({ headroom: 2 })))));
    expect(wrong).toMatchObject({ fault: expect.stringContaining('headroom') });
  });
});

describe('what a config costs, for people', () => {
  const point = toCostPoint(goalFor(), at(400), onGpus([0]));

  it('is said with the replicas and how full they are', () => {
    expect(point && describeCost(point)).toBe(
      '6.00 EUR an hour for 1,000 infer/s: 3 replicas of 1 × L4, 83 % used; 1.39 EUR for a million inferences (95 %: 1.26 to 1.54)',
    );
    expect(toCostPoint(goalOf(20), at(400), onGpus([0]))).toBeUndefined();
    expect(describeCostShare(1 / 0.62)).toBe("0.62 of the original's cost");
  });

  it('is what compare goes by where the study was about it', () => {
    const summary = {
      schemaVersion: 1,
      model: 'm',
      emulated: null,
      budget: null,
      feasible: true,
      best: {
        load: at(1).level,
        throughput: at(400).throughput,
        budgetLatencyMs: { percentile: 99, value: 5, low: 5, high: 5 },
        cost: point,
      },
    };
    const metricsIn = (metric: string): readonly string[] =>
      readGateDocument(
        JSON.stringify({ ...summary, objectives: [{ metric, weight: 1 }] }),
        'summary.json',
      ).readings.map((reading) => `${reading.metric} ${reading.interval.value} ${reading.unit}`);
    expect(metricsIn('cost-per-hour')).toEqual(['cost-per-hour for 1,000 infer/s 6 EUR']);
    expect(metricsIn('throughput')[0]).toBe('throughput 400 infer/s');
  });
});
