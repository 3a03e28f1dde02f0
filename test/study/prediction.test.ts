import { describe, expect, it } from 'vitest';
import { NS_PER_MS } from '#base/units.ts';
import { closingLines } from '#headless/closing.ts';
import { reportHtml } from '#report/report-html.ts';
import { foldStudy } from '#study/records/fold.ts';
import type { StudyRecord } from '#study/records/records.ts';
import { predictTrial } from '#study/summary/prediction.ts';
import { summarize } from '#study/summary/summary.ts';
import type { Trial } from '#study/types.ts';
import type { ModelConfig } from '#triton/config/model-config.ts';
import { configOf, goalOf, studyStarted, toCandidate, trialOf } from './builders.ts';
import { measuredAt, truth } from './simulated.ts';

const batching = { dynamic_batching: {} };
const one = configOf(1, 8, batching);
const many = configOf(4, 4, batching);
const between = configOf(2, 8, batching);

const baseline = trialOf(0, one, { measurements: [1, 8, 32].map((level) => measuredAt(one, level)) });
const second = trialOf(1, many, { measurements: [8, 32].map((level) => measuredAt(many, level)) });
const target = trialOf(2, between, { measurements: [measuredAt(between, 24)] });
const trials = [baseline, second, target];
const level = { mode: 'concurrency', value: 24 } as const;
const apart = (a: number | undefined, b: number): number => Math.abs((a ?? Number.NaN) / b - 1);

describe('the prediction of a trial', () => {
  it('is near to what the server does, by the measurements of the others', () => {
    const predicted = predictTrial(trials, target, level, 95);
    const { requestsPerSecond, latencyNs } = truth(between, 24);
    expect(apart(predicted?.throughput, requestsPerSecond)).toBeLessThan(0.1);
    expect(apart(predicted?.latencyMs.p50, latencyNs.p50 / NS_PER_MS)).toBeLessThan(0.15);
    expect(apart(predicted?.latencyMs.p99, latencyNs.p99 / NS_PER_MS)).toBeLessThan(0.2);
    expect(predicted?.budgetLatencyMs).toEqual({ percentile: 95, value: predicted?.latencyMs.p95 });
    expect(predicted).toMatchObject({ from: 5, extrapolates: [] });
  });

  it('does not look at its own measurements, and is the same for the same seed', () => {
    const other = { ...target, measurements: [measuredAt(one, 8), measuredAt(many, 64)] };
    const predicted = predictTrial(trials, target, level);
    expect(predicted).not.toBeNull();
    expect(predictTrial([baseline, second, other], other, level)).toEqual(predicted);
    expect(predictTrial([second, target, baseline], target, level)?.throughput).toBeCloseTo(
      predicted?.throughput ?? 0,
      -1,
    );
  });

  it('says what none of the others had', () => {
    const larger = { ...target, candidate: toCandidate(configOf(6, 32, batching)) };
    expect(predictTrial(trials, larger, { ...level, value: 256 })?.extrapolates).toEqual(['instances', 'batch size']);
    const graphs = configOf(2, 8, { ...batching, optimization: { cuda: { graphs: true } } });
    const variant = { ...target, candidate: toCandidate(graphs) };
    expect(predictTrial(trials, variant, level)?.extrapolates).toEqual(['variant']);
  });

  it('counts samples, not requests, when clients send several at once', () => {
    const fours = trialOf(0, one, { measurements: [4, 16].map((clients) => measuredAt(one, clients, 4)) });
    const predicted = predictTrial([fours], target, level);
    expect(apart(predicted?.throughput, 4 * truth(between, 24, 4).requestsPerSecond)).toBeLessThan(0.2);
    const small = trialOf(3, configOf(1, 2, batching));
    expect(predictTrial([fours], small, level)).toBeNull();
  });

  it.each<[string, readonly Trial[], Partial<ModelConfig>, 'concurrency' | 'request-rate']>([
    ['no other trial has a measurement', [target], {}, 'concurrency'],
    ['the server gives no statistics', [trialOf(0, one)], {}, 'concurrency'],
    [
      'somebody else used the model',
      [trialOf(0, one, { measurements: [{ ...measuredAt(one, 8), foreignRequests: 99 }] })],
      {},
      'concurrency',
    ],
    [
      'requests failed',
      [trialOf(0, one, { measurements: [{ ...measuredAt(one, 8), errorRate: 0.2 }] })],
      {},
      'concurrency',
    ],
    ['the level is a request rate', trials, {}, 'request-rate'],
    ['sequences are batched', trials, { sequence_batching: { direct: {} } }, 'concurrency'],
    ['the model is decoupled', trials, { model_transaction_policy: { decoupled: true } }, 'concurrency'],
  ])('is none when %s', (_, others, change, mode) => {
    const asked = { ...target, candidate: toCandidate({ ...between, ...change }) };
    expect(predictTrial(others, asked, { mode, value: 24 })).toBeNull();
  });
});

describe('reports', () => {
  const at = (second: number): string => new Date(Date.UTC(2026, 0, 1, 0, 0, second)).toISOString();
  const recordsOf = ({ number: trial, role, candidate, measurements }: Trial): StudyRecord[] => [
    { type: 'trial-started', at: at(trial), trial, role, candidate },
    ...measurements.map((measurement) => ({ type: 'trial-measured', at: at(trial), trial, measurement }) as const),
    { type: 'trial-finished', at: at(trial), trial, chosen: 0, feasible: true, failure: null },
  ];
  const study = (...tried: Trial[]) =>
    foldStudy([studyStarted(goalOf(1000), { at: at(0) }), ...tried.flatMap(recordsOf)]);

  it('say what was predicted of the best, and from how much', () => {
    const state = study(baseline, second, target);
    const summary = summarize(state, 'journal.jsonl');
    expect(summary.best?.trial).toBe(2);
    expect(summary.best?.predicted).toEqual(predictTrial(trials, target, level));
    const words = /infer\/s, p99 [\d.]+ ms \(queueing model, from the other trials' 5 measurements\)/;
    expect(closingLines(summary, {}).find((line) => line.startsWith('predicted'))).toMatch(words);
    expect(reportHtml(state, summary, null).replaceAll('&#39;', "'")).toMatch(words);
  });

  it('say nothing where nothing can be predicted', () => {
    const state = study(baseline);
    const summary = summarize(state, 'journal.jsonl');
    expect(summary.best?.predicted).toBeNull();
    expect(closingLines(summary, {}).join('\n')).not.toContain('predicted');
    expect(reportHtml(state, summary, null)).not.toContain('Predicted without its own');
  });
});
