import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import type { Measurement } from '#profiler/measurement.ts';
import { foldStudy } from '#study/records/fold.ts';
import type { StudyRecord } from '#study/records/records.ts';
import type { NoiseFloor } from '#study/summary/context-schema.ts';
import { findNoiseFloor, largeBelowMs, noiseFloorIn, noiseVerdict, restLevel } from '#study/summary/noise-floor.ts';
import { describeNoise, noiseSentence } from '#study/summary/noise-words.ts';
import { summarize } from '#study/summary/summary.ts';
import { summaryJsonSchema } from '#study/summary/summary-schema.ts';
import { goalOf, measured, originalConfig, studyStarted, toCandidate } from './builders.ts';

const budgetOf = (latencyMs: number, percentile = 99) => ({ percentile, latencyMs });

/** p50 4 ms; p99 6 ms, from 5 to 10 ms by window. */
function atRest(level = 1, more: Partial<Measurement> = {}): Measurement {
  const calm = measured(level, 250 * level, 4);
  return {
    ...calm,
    budgetLatencyMs: { percentile: 99, value: 6, low: 5.5, high: 6.5 },
    windowPercentilesMs: { low: 5, high: 10 },
    ...more,
  };
}

const floorAt = (budgetMs: number): NoiseFloor => {
  const floor = noiseFloorIn(atRest(), budgetOf(budgetMs));
  if (!floor) throw new Error('no noise floor');
  return floor;
};

describe('the noise floor of a measurement', () => {
  it('is the percentile, its lowest and highest window, and what the highest takes of the room above the median', () => {
    expect(floorAt(16)).toEqual({
      level: { mode: 'concurrency', value: 1 },
      percentile: 99,
      valueMs: 6,
      lowMs: 5,
      highMs: 10,
      medianMs: 4,
      windows: 3,
      share: 0.5,
    });
    expect(floorAt(8).share).toBe(1);
    expect(floorAt(4).share).toBe(1);
    const still = atRest(1, { windowPercentilesMs: { low: 4, high: 4 } });
    expect(noiseFloorIn(still, budgetOf(8))?.share).toBe(0);
  });

  it("names the server's queue where lone requests stall in it, and no delay of its config", () => {
    const computing = { computeInputUs: 0, computeInferUs: 2_000, computeOutputUs: 0, overheadUs: 0, batches: [] };
    const counts = { successCount: 100, failCount: 0, inferenceCount: 100, executionCount: 100 };
    const cache = { hitCount: 0, hitUs: 0, missCount: 0, missUs: 0 };
    const waiting = (queueUs: number) =>
      atRest(1, { server: { ...computing, ...counts, cache, requestUs: queueUs + 2_000, queueUs } });
    const delayed = noiseFloorIn(waiting(3_500), budgetOf(5.5));
    expect(delayed).not.toHaveProperty('serverQueueMs');
    const stalled = noiseFloorIn(waiting(33_000), budgetOf(5.5));
    expect(stalled).toMatchObject({ serverQueueMs: 33 });
    const words = stalled && describeNoise(stalled, budgetOf(5.5));
    expect(words).toMatchObject({
      tone: 'warning',
      meaning: "waiting in the server's own queue (33 ms in the mean) exceeds your 5.5 ms budget",
      advice: expect.stringContaining('queue policy'),
    });
  });

  it('has no share without a budget, or with one on another percentile', () => {
    expect(noiseFloorIn(atRest(), null)).toMatchObject({ valueMs: 6, share: null });
    expect(noiseFloorIn(atRest(), budgetOf(8, 95))).toMatchObject({ valueMs: 6, share: null });
  });

  it('is not known of a load, of what the load generator limited, or of what served nothing', () => {
    expect(noiseFloorIn(atRest(4), null)).not.toBeNull();
    expect(noiseFloorIn(atRest(5), null)).toBeNull();
    const { windowPercentilesMs: _, ...older } = atRest();
    expect(noiseFloorIn(older, null)).toBeNull();
    const client = { cpuUsPerRequest: 20, eventLoopDelayMs: 9, bound: true };
    expect(noiseFloorIn(atRest(1, { client }), null)).toBeNull();
    expect(noiseFloorIn(atRest(1, { throughput: { value: 0, low: 0, high: 0 } }), null)).toBeNull();
  });

  it('is, at a request rate, of one that keeps one request in flight at most, from the time that requests are due', () => {
    const rated = (perSecond: number): Measurement => ({
      ...atRest(1, { level: { mode: 'request-rate', value: perSecond } }),
      throughput: { value: perSecond, low: perSecond, high: perSecond },
      openLoop: {
        scheduledLatencyMs: { ...measured(1, 1, 5).latencyMs },
        lateSends: 0,
        droppedSends: 0,
        sendLatenessP50Us: 1,
        achievedRate: perSecond,
      },
    });
    expect(noiseFloorIn(rated(250), null)).toMatchObject({ medianMs: 5, level: { mode: 'request-rate', value: 250 } });
    expect(noiseFloorIn(rated(251), null)).toBeNull();
  });

  it('breaks a budget below its highest window, and decides a third of one below that which it tells', () => {
    const at = (budgetMs: number) => noiseVerdict(floorAt(budgetMs), budgetMs);
    expect([3.9, 4, 5.9, 6, 9.9, 10, 21.9, 22.1].map(at)).toEqual([
      ...['model', 'model', 'breaks', 'may-break', 'may-break', 'large', 'large', 'small'],
    ]);
    expect(largeBelowMs(floorAt(8))).toBe(22);
  });

  it('is told in words, with what to do where the budget may break', () => {
    const words = (budgetMs: number) => describeNoise(floorAt(budgetMs), budgetOf(budgetMs));
    const figures = 'p99 is 6 ms with one request in flight (5 to 10 by window)';
    expect(noiseSentence(words(40))).toBe(`${figures}; noise alone uses up 17 % of the headroom to your 40 ms budget`);
    expect([words(40), words(16), words(8), words(5), words(3)].map(({ tone }) => tone)).toEqual([
      ...['quiet', 'note', 'warning', 'warning', 'warning'],
    ]);
    expect(words(16)).toMatchObject({
      meaning: 'noise alone uses up 50 % of the headroom to your 16 ms budget',
      advice: null,
    });
    expect(words(8).meaning).toBe('in a bad window, noise alone exceeds your 8 ms budget');
    expect(words(5).meaning).toBe('noise alone exceeds your 5 ms budget');
    expect(words(3).meaning).toBe('half of the requests take 4 ms or more even at this load, over your 3 ms budget');
    for (const budgetMs of [8, 5])
      expect(words(budgetMs).advice).toMatch(/quieter.*larger --latency-budget.*percentile.*longer/);
    expect(words(3).advice).not.toContain('quieter');
    expect(describeNoise(floorAt(8), null)).toMatchObject({ tone: 'quiet', figures, meaning: null });
    expect(describeNoise({ ...floorAt(8), level: { mode: 'request-rate', value: 1200 } }, null).figures).toMatch(
      /^p99 is .* at 1,200 requests\/s/,
    );
  });
});

describe('the noise floor of a study', () => {
  const at = '2026-01-01T00:00:01.000Z';
  const studyWith = (measurements: readonly Measurement[]): StudyRecord[] => [
    studyStarted(goalOf(16)),
    { type: 'trial-started', at, trial: 0, role: 'baseline', candidate: toCandidate(originalConfig) },
    ...measurements.map((measurement): StudyRecord => ({ type: 'trial-measured', at, trial: 0, measurement })),
  ];
  const finished: StudyRecord = { type: 'trial-finished', at, trial: 0, chosen: 0, feasible: true, failure: null };

  it('is that of the first measurement of its original config, while that is measured and ever after', () => {
    const records = studyWith([atRest(), measured(16, 400, 12)]);
    const visited: StudyRecord[] = [
      { type: 'trial-started', at, trial: 0, role: 'baseline', candidate: toCandidate(originalConfig) },
      { type: 'trial-measured', at, trial: 0, measurement: atRest(2, { windowPercentilesMs: { low: 7, high: 8 } }) },
    ];
    expect(findNoiseFloor(foldStudy(records.slice(0, 2)))).toBeNull();
    for (const each of [records.slice(0, 3), records, [...records, finished], [...records, finished, ...visited]])
      expect(findNoiseFloor(foldStudy(each))).toMatchObject({ valueMs: 6, highMs: 10, share: 0.5 });
  });

  it('is not known where the study began with a load', () => {
    expect(findNoiseFloor(foldStudy([...studyWith([measured(16, 400, 12), atRest()]), finished]))).toBeNull();
  });

  it('is in the summary as its schema says', () => {
    const schema = z.fromJSONSchema(summaryJsonSchema() as Parameters<typeof z.fromJSONSchema>[0]);
    for (const [measurement, highMs] of [
      [atRest(), 10],
      [measured(16, 400, 12), undefined],
    ] as const) {
      const summary = summarize(foldStudy([...studyWith([measurement]), finished]), 'journal.jsonl');
      expect(summary.noiseFloor?.highMs).toBe(highMs);
      expect(schema.safeParse(JSON.parse(JSON.stringify(summary))).error).toBeUndefined();
    }
  });
});

describe('the level at which a study begins', () => {
  it('is the lowest of the range where that is a few requests in flight, or a rate', () => {
    const of = (mode: 'concurrency' | 'request-rate', low: number) => restLevel({ mode, low, high: 1000 });
    expect([of('concurrency', 1), of('concurrency', 4), of('concurrency', 5)]).toEqual([
      { value: 1 },
      { value: 4 },
      null,
    ]);
    expect(of('request-rate', 200)).toEqual({ value: 200 });
    const batch = { low: 2, high: 64 };
    expect(restLevel({ mode: 'concurrency', low: 1, high: 1, batch })).toEqual({ value: 1, batch: 2 });
  });
});
