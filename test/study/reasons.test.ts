import { describe, expect, it } from 'vitest';
import { explainBest } from '#study/analysis/explain/explain.ts';
import { computeBarScale } from '#study/analysis/explain/reasons.ts';
import { computeLength, describeBar } from '#study/analysis/explain/time-bar.ts';
import { foldStudy } from '#study/records/fold.ts';
import type { Reason } from '#study/summary/explanation-schema.ts';
import { jointRecords, pipeline, pipelineMeasured } from '../support/joint-records.ts';
import { goalOf } from './builders.ts';
import { type Served, served, studyOf, type Tried } from './explained.ts';

const original: Served = { level: 4, throughput: 380, queueMs: 7.8, computeMs: 2.5, outsideMs: 0.2, p99Ms: 12 };
const better: Served = { level: 8, throughput: 1480, queueMs: 2.5, computeMs: 2.6, outsideMs: 0.3, p99Ms: 6 };
const before: Tried = { assignment: {}, measurements: [served(original)] };
const reasonsOf = (...of: Parameters<typeof studyOf>): readonly Reason[] => explainBest(studyOf(...of))?.reasons ?? [];
const told = (reasons: readonly Reason[]) => reasons.map(({ about, words }) => `${about}: ${words}`);

describe('the short list of reasons', () => {
  it('is a line each for the limit before, what changed it, the limit now, and the next step', () => {
    const alone = {
      assignment: { max_batch_size: 8 },
      measurements: [served({ ...better, throughput: 390, p99Ms: 60 })],
    };
    const best = { assignment: { instances: 4, max_batch_size: 8 }, measurements: [served(better)] };
    const reasons = reasonsOf([before, alone, best]);
    expect(told(reasons)).toEqual([
      'before: compute (1 instance, 95 % busy)',
      'changed: instances=4 gives 3.79× (measured)',
      'now: compute (4 instances, 96 % busy)',
      'next: a cheaper model (quantised, an optimised graph, cheaper code), or faster cores',
    ]);
    expect(reasons.map(({ bar }) => bar && describeBar(bar))).toEqual([
      '10.5 ms: queue 74 %, compute 24 %, network and client 2 %',
      '1,480 infer/s with it, 390 without',
      '5.4 ms: queue 46 %, compute 48 %, network and client 6 %',
      null,
    ]);
    // Times have one scale, so that the reader sees which is longer.
    const [was, changed, now] = reasons as readonly [Reason, Reason, Reason];
    expect(computeBarScale(was, reasons)).toBeCloseTo(10.5);
    expect(computeBarScale(now, reasons)).toBeCloseTo(10.5);
    expect(computeBarScale(changed, reasons)).toBeCloseTo(1480);
  });

  it('has only the limit and the next step where the original config is the best', () => {
    expect(reasonsOf([before]).map(({ about }) => about)).toEqual(['now', 'next']);
  });

  it('says what is not known instead of guessing', () => {
    const blind = { server: null };
    const slow = { assignment: {}, measurements: [served(original, blind)] };
    const fast = { assignment: { instances: 2, max_batch_size: 8 }, measurements: [served(better, blind)] };
    const reasons = reasonsOf([slow, fast]);
    expect(told(reasons)).toEqual([
      'before: not identified',
      'changed: instances=2 max_batch_size=8: the effect of each is unknown',
      'now: not identified',
    ]);
    expect(reasons.map(({ bar }) => bar && describeBar(bar))).toEqual(['10.5 ms', null, '5.4 ms']);
  });

  it('names the budget where that is the limit, missed or nearly used up', () => {
    const late = { assignment: { instances: 4 }, measurements: [served(better)], feasible: false };
    expect(told(reasonsOf([late], { goal: goalOf(3) }))).toContain('now: the latency budget (p99 6 ms of 3 ms)');
  });

  it('divides the time of a pipeline by model', () => {
    const reasons = explainBest(foldStudy(jointRecords(pipeline, pipelineMeasured)))?.reasons ?? [];
    const [was, now] = ['before', 'now'].map((about) => reasons.find((reason) => reason.about === about)?.bar);
    expect(was?.parts.map(({ name }) => name)).toEqual(expect.arrayContaining(['tokenizer', 'encoder']));
    expect(was && now && computeLength(was) > computeLength(now)).toBe(true);
  });
});
