import { describe, expect, it } from 'vitest';
import { missingMetrics, requireMetrics } from '#study/goal/goal.ts';
import { listColumns } from '#study/goal/metrics/columns.ts';
import { metricCell, metricHead, metricText } from '#study/goal/metrics/format.ts';
import type { Metric } from '#study/goal/metrics/metric.ts';
import { describeUnmet, needsMetBy, unmetNeeds } from '#study/goal/metrics/needs.ts';
import { builtInMetrics, Metrics } from '#study/goal/metrics/registry.ts';
import { goalOf, measured, originalConfig, toCandidate } from './builders.ts';

const candidate = toCandidate(originalConfig);
const named = (name: string): Metric => builtInMetrics.named(name);

describe('a registry', () => {
  const extra: Metric = { ...named('gpu-power'), name: 'power-cost', units: {} };

  it('is a value: another one with more entries leaves it as it was', () => {
    const more = builtInMetrics.with({ ...extra, columns: [] });
    expect(more.names).toEqual([...builtInMetrics.names, 'power-cost']);
    expect(builtInMetrics.has('power-cost')).toBe(false);
    expect(() => builtInMetrics.named('power-cost')).toThrowError(expect.objectContaining({ code: 'USAGE' }));
  });

  it.each([
    ['a name that the options cannot read', { ...extra, name: 'power<=' }],
    ['a unit that they cannot read', { ...extra, units: { 'W h': 1 } }],
    ['a name that there is', named('gpu-power')],
    ['a column that there is', { ...extra, columns: listColumns(named('throughput')) }],
  ])('refuses %s', (_, entry) => {
    expect(() => builtInMetrics.with(entry)).toThrowError(expect.objectContaining({ code: 'USAGE' }));
  });

  it('is in no JSON of a goal', () => {
    const goal = { ...goalOf(8), metrics: new Metrics([named('throughput')]) };
    expect(JSON.parse(JSON.stringify(goal))).toEqual(goalOf(8));
  });
});

describe('columns', () => {
  it('are named after the metric and its unit, with the ends of an interval', () => {
    const names = (metric: Metric): readonly string[] => listColumns(metric).map(({ name }) => name);
    expect(names(named('gpu-utilization'))).toEqual(['gpu_utilization_percent']);
    const { columns: _, ...bare } = named('throughput');
    expect(names(bare)).toEqual([
      'throughput_infer_per_s',
      'throughput_infer_per_s_low',
      'throughput_infer_per_s_high',
    ]);
    expect(listColumns(bare).map(({ read }) => read(measured(1, 100, 5), candidate))).toEqual([100, 98, 102]);
    expect(names({ ...bare, unit: '', interval: null })).toEqual(['throughput']);
  });
});

describe('figures', () => {
  it('have their unit in the head or beside them', () => {
    expect([metricHead(named('gpu-memory')), metricCell(named('gpu-memory'), 2048)]).toEqual([
      ...['GPU memory, MiB', '2,048'],
    ]);
    expect(metricText(named('gpu-memory'), 2048)).toBe('2,048 MiB');
    expect(metricText(named('gpu-memory'), undefined)).toBe('–');
    expect([metricHead(named('error-rate')), metricText(named('error-rate'), 0.015)]).toEqual(['failed', '1.5 %']);
    expect([metricHead(named('instances')), metricText(named('instances'), 2)]).toEqual(['instances', '2']);
  });
});

describe('what metrics need', () => {
  const PRICES = 'needs prices (--prices), and which of them count (--gpu or --instance-type)';
  const server = { queueUs: 1 } as NonNullable<ReturnType<typeof measured>['server']>;

  it('is told of a server by one measurement', () => {
    expect([...needsMetBy(measured(1, 1, 1))]).toEqual(['candidate', 'gpu-count']);
    const device = { gpuMemoryMiB: 1, cpuUtilizationPercent: 1 };
    expect([...needsMetBy(measured(1, 1, 1, { server, device }))]).toEqual([
      ...['candidate', 'gpu-count', 'server-statistics', 'gpu-metrics', 'host-metrics'],
    ]);
  });

  it('is said before anything is measured', () => {
    const met = needsMetBy(measured(1, 1, 1, { server }));
    const words = unmetNeeds(builtInMetrics.all, met).map(describeUnmet);
    expect(words).toEqual([
      ...['gpu-memory', 'gpu-utilization', 'gpu-power'].map(
        (name) => `${name} needs GPU metrics, which this server's page lacks`,
      ),
      "cpu-utilization needs CPU metrics, which this server's page lacks",
      ...builtInMetrics.names
        .filter((name) => /^(ttft|itl|tpot|.*-token-|output-tokens)/.test(name))
        .map((name) => `${name} is about the tokens of a language model, and this one is asked with tensors`),
      'goodput has no limits to be counted by (--goodput)',
      `cost-per-hour ${PRICES}`,
      `cost-per-million ${PRICES}`,
      'cost-per-million-tokens is about the tokens of a language model, and this one is asked with tensors',
      `replicas ${PRICES}`,
    ]);
    expect(unmetNeeds([named('latency-p99')], new Set())).toEqual([]);
  });

  it('is in the error of a measurement that lacks it', () => {
    const goal = goalOf(8, {
      objectives: [{ metric: 'gpu-power', weight: 1 }],
      constraints: [{ metric: 'queue-time', relation: '<=', value: 1 }],
    });
    expect(missingMetrics(measured(1, 1, 1), candidate, goal)).toEqual(['gpu-power', 'queue-time']);
    expect(() => requireMetrics(measured(1, 1, 1), candidate, goal)).toThrowError(
      expect.objectContaining({
        code: 'UNSUPPORTED',
        message:
          "the goal cannot be judged: gpu-power needs GPU metrics, which this server's page lacks; " +
          "queue-time needs the server's statistics of the model, which it does not give",
        hint: expect.stringContaining('--metrics-url'),
      }),
    );
  });
});
