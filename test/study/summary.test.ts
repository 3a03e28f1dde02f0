import { describe, expect, it } from 'vitest';
import { foldStudy } from '#study/records/fold.ts';
import type { StudyRecord } from '#study/records/records.ts';
import { summarize } from '#study/summary/summary.ts';
import { jointRecords, pipeline, pipelineMeasured, tenants, tenantsMeasured } from '../support/joint-records.ts';
import { atSecond, searchedStudy, trialRecords } from '../support/study-records.ts';
import { configOf, goalOf, studyStarted } from './builders.ts';

describe('the summary', () => {
  it('is the object of the contract', () => {
    const done: StudyRecord = {
      type: 'study-finished',
      at: atSecond(90),
      stopReason: 'the list',
      interrupted: false,
      wallSeconds: 90,
    };
    const restored: StudyRecord = {
      type: 'model-restored',
      at: atSecond(80),
      how: 'config',
      verified: true,
      detail: 'put back',
    };
    const gain: StudyRecord = {
      type: 'gain-decided',
      at: atSecond(70),
      best: 1,
      gain: { value: 2, low: 1.9, high: 2.1 },
    };
    const summary = summarize(foldStudy([...searchedStudy, gain, restored, done]), 'journal.jsonl');
    expect(summary).toMatchObject({
      schemaVersion: 1,
      model: 'm',
      server: { name: 'triton', version: '2.51.0' },
      emulated: null,
      budget: { percentile: 99, latencyMs: 10 },
      feasible: true,
      best: {
        trial: 1,
        assignment: { count: 2 },
        config: configOf(2, 4),
        load: { mode: 'concurrency', value: 4 },
        throughput: { value: 300, low: 294, high: 306 },
        latencyMs: { avg: 9, p50: 9, p90: 9, p95: 9, p99: 9 },
      },
      baseline: { trial: 0, load: { value: 2 } },
      gain: { ratio: 2, low: 1.9, high: 2.1 },
      counts: { trials: 3, measurements: 8, reloads: 2, failed: 0 },
      wallSeconds: 90,
      stopReason: 'the list',
      restored: { how: 'config', verified: true },
    });
    expect(summary.pareto).toHaveLength(4);
    expect(Object.keys(summary.server)).toEqual(['name', 'version']);
  });

  it('holds no figure that JSON cannot say', () => {
    const dead = [
      studyStarted(goalOf(10)),
      ...trialRecords({
        number: 0,
        readings: [{ level: 1, throughput: 0, latencyMs: Number.NaN }],
        chosen: 0,
        feasible: false,
      }),
    ];
    const gain: StudyRecord = {
      type: 'gain-decided',
      at: atSecond(70),
      best: 1,
      gain: { value: 2, low: 0, high: Number.POSITIVE_INFINITY },
    };
    for (const records of [dead, [studyStarted(goalOf(10))], [...searchedStudy, gain]]) {
      const summary = summarize(foldStudy(records), 'journal.jsonl');
      expect(JSON.parse(JSON.stringify(summary))).toEqual(summary);
    }
  });

  it('calls the baseline once itself, and best what misses least when nothing meets the goal', () => {
    const alone = summarize(foldStudy(searchedStudy.slice(0, 7)), 'j');
    expect(alone).toMatchObject({ gain: { ratio: 1, low: 1, high: 1 }, interrupted: true });
    const infeasible = summarize(foldStudy(searchedStudy, goalOf(3)), 'j');
    expect(infeasible).toMatchObject({ feasible: false, best: { trial: 1, load: { value: 2 }, feasible: false } });
  });
});

it('has what the clients of each model saw, and where its time went, where several are tuned together', () => {
  const mix = summarize(foldStudy(jointRecords(tenants, tenantsMeasured)), 'journal.jsonl');
  expect(mix.best?.fronts).toMatchObject({
    a: { load: { value: 8 }, throughput: 560, latencyMs: { p99: 6 }, budgetLatencyMs: 6, errorRate: 0 },
    b: { load: { mode: 'request-rate', value: 40 }, throughput: 40 },
  });
  const piped = summarize(foldStudy(jointRecords(pipeline, pipelineMeasured)), 'journal.jsonl');
  expect(piped.best?.fronts).toBeUndefined();
  expect(piped.baseline?.stages).toMatchObject({
    tokenizer: { queueMs: 0.2, computeMs: 0.8, instances: 1, timesPerRequest: 1 },
    encoder: { queueMs: expect.closeTo(7.2, 6), computeMs: 2.8, busy: expect.closeTo(0.933, 3), meanBatch: 2 },
  });
});
