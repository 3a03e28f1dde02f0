import { expect, it } from 'vitest';
import { toSpec } from '#spec/spec-of-options.ts';
import { latencyNote, latencyWarning } from '#study/summary/latency-note.ts';
import { summarize } from '#study/summary/summary.ts';
import { goalOf } from './builders.ts';
import { served, studyOf, type Tried } from './explained.ts';

const topology = {
  fronts: ['detector', 'forecaster'].map((model) => ({ model, steps: [{ stage: model }] })),
  stages: ['detector', 'forecaster'],
};
const one = { model: 'm', spec: toSpec({ model: 'm' }) };
const two = { ...one, topology };
const limitOn = (metric: string) => ({ metric, relation: '<=' as const, value: 40 });

it('warns where a search may take throughput at any latency', () => {
  expect(latencyWarning(one, goalOf(null))).toBe(
    'no latency limit: the search takes throughput at any latency (--latency-budget MS)',
  );
  expect(latencyWarning(one, goalOf(20))).toBeNull();
  expect(latencyWarning(one, goalOf(null, { constraints: [limitOn('latency-p95')] }))).toBeNull();
  expect(latencyWarning(one, goalOf(null, { objectives: [{ metric: 'latency-p99', weight: 1 }] }))).toBeNull();
  const bounded = { ...one, spec: toSpec({ model: 'm', concurrency: { low: 1, high: 8 } }) };
  expect(latencyWarning(bounded, goalOf(null))).toBeNull();
});

it('warns of co-located models without a limit of their own, also at bounded levels', () => {
  const spec = toSpec({ model: 'm', concurrency: { low: 1, high: 8 } });
  expect(latencyWarning({ ...two, spec }, goalOf(null))).toContain(
    'no latency limit for detector, forecaster: the search takes',
  );
  expect(latencyWarning(two, goalOf(null, { constraints: [limitOn('latency@detector')] }))).toMatch(
    /limit for forecaster: .*\(--latency-budget forecaster=MS\)$/,
  );
  const both = [limitOn('latency@detector'), limitOn('latency@forecaster')];
  expect(latencyWarning(two, goalOf(null, { constraints: both }))).toBeNull();
});

const slow = served({ level: 4, throughput: 400, queueMs: 5, computeMs: 3, outsideMs: 1, p99Ms: 12 });
const fast = served({ level: 64, throughput: 1000, queueMs: 50, computeMs: 3, outsideMs: 1, p99Ms: 310 });

it('says beside the result what happened to the latency', () => {
  const tried: readonly Tried[] = [
    { assignment: {}, measurements: [slow] },
    { assignment: { instances: 2 }, measurements: [fast] },
  ];
  const noteOf = (goal: ReturnType<typeof goalOf>) => summarize(studyOf(tried, { goal }), 'j').latencyNote;
  expect(noteOf(goalOf(null))).toBe(
    'p99 went from 12 ms to 310 ms: the goal has no latency limit (--latency-budget MS)',
  );
  expect(noteOf(goalOf(500))).toBeNull();
  const { best, baseline } = summarize(studyOf(tried, { goal: goalOf(null) }), 'j');
  const inFronts = (point: NonNullable<typeof best>, latencies: readonly number[]) => ({
    ...point,
    fronts: Object.fromEntries(
      topology.stages.map((model, index) => [
        model,
        {
          load: point.load,
          latencyMs: point.latencyMs,
          throughput: 1,
          errorRate: 0,
          budgetLatencyMs: latencies[index] ?? null,
        },
      ]),
    ),
  });
  if (!best || !baseline) throw new Error('nothing was measured');
  expect(
    latencyNote(two, goalOf(null), inFronts(best, [3092, 40]), inFronts({ ...best, ...baseline }, [350, 41])),
  ).toBe(
    'p99 of detector went from 350 ms to 3,092 ms; p99 of forecaster stayed at 40 ms: the goal has no latency limit (--latency-budget detector=MS,forecaster=MS)',
  );
});
