import { describe, expect, it } from 'vitest';
import { seededRandom, standardNormal } from '#base/random.ts';
import { closingLines } from '#headless/closing.ts';
import { levelCurve } from '#study/level-curve.ts';
import { recommend, recommendationAt } from '#study/recommendation.ts';
import { foldStudy } from '#study/records/fold.ts';
import type { StudyRecord } from '#study/records/records.ts';
import { describeChance, describeRecommendation, describeRecommendationShort } from '#study/summary/describe.ts';
import type { Recommendation } from '#study/summary/point-schema.ts';
import { summarize } from '#study/summary/summary.ts';
import type { Goal, Trial } from '#study/types.ts';
import { atSecond } from '../support/study-records.ts';
import { configOf, goalOf, measured, originalConfig, studyStarted, toCandidate } from './builders.ts';

const range = { mode: 'concurrency', low: 1, high: 64 } as const;
const budget = { percentile: 99, latencyMs: 20 };

/** Latency in proportion to the level: the budget of 20 ms is reached at 20. */
const readings = [4, 8, 12, 16, 24].map((level) => measured(level, 100 + level, level));
const curve = levelCurve(readings, budget, range, 1);
if (!curve) throw new Error('there is no curve');

describe('the recommended level', () => {
  it('is the highest with a chance of 90 %, above the one that is safe at 99 %', () => {
    const { level, safeLevel } = recommendationAt({ level: 12, latencyMs: 12 }, curve, 20);
    if (level === null || safeLevel === null) throw new Error('there is no level');
    expect(curve.chance(level)).toBeGreaterThanOrEqual(0.9);
    expect(curve.chance(level + 1)).toBeLessThan(0.9);
    expect(curve.chance(safeLevel)).toBeGreaterThanOrEqual(0.99);
    expect(safeLevel).toBeLessThan(level);
    expect(level).toBeLessThan(20);
  });

  it('has the chance and the margin of the level that is reported', () => {
    const [low, high] = [8, 24].map((level) => recommendationAt({ level, latencyMs: level }, curve, 20)) as [
      Recommendation,
      Recommendation,
    ];
    expect(low.chance).toBeGreaterThan(0.99);
    expect(low.margin).toBeCloseTo(0.6);
    expect(high.chance).toBeLessThan(0.5);
    expect(high.margin).toBeCloseTo(-0.2);
  });

  it('is none where no level holds', () => {
    expect(recommendationAt({ level: 4, latencyMs: 4 }, curve, 0.001)).toMatchObject({ margin: expect.any(Number) });
    const late = levelCurve([measured(1, 100, 50)], budget, range, 1);
    expect(late && recommendationAt({ level: 1, latencyMs: 50 }, late, 20)).toMatchObject({
      level: null,
      safeLevel: null,
    });
  });
});

describe('the recommended batch beside a disturbed host', () => {
  const at = '2026-01-01T00:00:01.000Z';
  const batches = [1, 2, 4, 8, 16, 32, 64, 48, 40, 64, 32, 40, 48];

  /**
   * One config at each batch on a steady machine, whose other users make the host's own work take
   * longer for moments.
   */
  function stateOf(seed: number) {
    const random = seededRandom(seed);
    const noisy = (value: number, sd: number): number => value * Math.exp(sd * standardNormal(random));
    const measurements = batches.map((batch) => {
      const latencyMs = noisy(0.8 + 0.13 * batch, 0.03);
      return measured(1, (1e3 * batch) / latencyMs, latencyMs, {
        level: { mode: 'concurrency', value: 1, batch },
        hostWorkUs: noisy(1250, 0.15),
      });
    });
    const levels = { mode: 'concurrency', low: 1, high: 1, batch: { low: 1, high: 64 } } as const;
    return foldStudy([
      studyStarted(goalOf(7), { levels }),
      { type: 'trial-started', at, trial: 0, role: 'baseline', candidate: toCandidate(configOf(1, 64)) },
      ...measurements.map(
        (measurement, index): StudyRecord => ({
          type: 'trial-measured',
          at: atSecond(4 * index),
          trial: 0,
          measurement,
        }),
      ),
      { type: 'trial-finished', at, trial: 0, chosen: batches.indexOf(64), feasible: false, failure: null },
    ]);
  }

  it('is none of those that took longer than the budget', () => {
    for (const seed of [1, 2, 3, 4, 5, 6].map((each) => (each * 0x9e3779b1) | 0)) {
      const state = stateOf(seed);
      // 64 samples take 9.1 ms.
      const recommendation = recommend(state, state.trials[0] as Trial);
      expect(recommendation, `seed ${seed}`).toMatchObject({ of: 'batch', level: expect.any(Number) });
      expect(recommendation?.chance, `seed ${seed}`).toBeLessThan(0.01);
      expect(recommendation?.level, `seed ${seed}`).toBeLessThan(48);
    }
  });
});

describe('its words', () => {
  const load = { mode: 'concurrency', value: 64 } as const;
  const recommended = { level: 66, chance: 0.934, safeLevel: 56, margin: 0.081 };

  it('say the chance, the levels and what is left', () => {
    expect(describeRecommendation(recommended, budget, load)).toBe(
      'meets p99 ≤ 20 ms at concurrency 64 (93 % likely, 8 % headroom); 90 % likely up to 66, 99 % likely up to 56',
    );
    expect(describeRecommendationShort(recommended)).toBe(
      '93 % likely, 8 % headroom; 90 % likely up to 66, 99 % to 56',
    );
  });

  it('say to go no higher where the level is the highest that is likely', () => {
    const full = { level: 64, chance: 0.996, safeLevel: 64, margin: 0.22 };
    expect(describeRecommendation(full, budget, load)).toBe(
      'meets p99 ≤ 20 ms at concurrency 64 (over 99 % likely, 22 % headroom); go no higher',
    );
  });

  it('say what is over the budget, and that no level holds', () => {
    const none = { level: null, chance: 0.003, safeLevel: null, margin: -0.25 };
    expect(describeRecommendation(none, budget, load)).toBe(
      'meets p99 ≤ 20 ms at concurrency 64 (under 1 % likely, 25 % over the budget); no level is 90 % likely to meet it',
    );
  });

  it('never say that something is certain', () => {
    expect([1, 0.9951, 0.99, 0.5, 0.011, 0].map(describeChance)).toEqual([
      'over 99 %',
      'over 99 %',
      '99 %',
      '50 %',
      '1 %',
      'under 1 %',
    ]);
  });
});

describe('a summary', () => {
  const at = '2026-01-01T00:00:01.000Z';
  const studyOf = (goal: Goal): StudyRecord[] => [
    studyStarted(goal),
    { type: 'trial-started', at, trial: 0, role: 'baseline', candidate: toCandidate(originalConfig) },
    ...readings.map((measurement): StudyRecord => ({ type: 'trial-measured', at, trial: 0, measurement })),
    { type: 'trial-finished', at, trial: 0, chosen: 3, feasible: true, failure: null },
  ];
  const summaryOf = (goal: Goal) => summarize(foldStudy(studyOf(goal)), 'journal.jsonl');

  it('has it for the best and the original, at the level that is reported', () => {
    const summary = summaryOf(goalOf(20));
    expect(summary.best?.load.value).toBe(16);
    expect(summary.best?.recommended).toEqual(summary.baseline?.recommended);
    expect(summary.best?.recommended?.margin).toBeCloseTo(0.2);
    expect(closingLines(summary, {}).join('\n')).toMatch(
      /\nlevel +meets p99 ≤ 20 ms at concurrency 16 \(.* likely, 20 % headroom\)/,
    );
  });

  it('has none where the goal has no curve', () => {
    const aims = [goalOf(null), goalOf(20, { objectives: [{ metric: 'latency-p99', weight: 1 }] })];
    for (const goal of aims) {
      const summary = summaryOf(goal);
      expect(summary.best?.recommended).toBeNull();
      expect(closingLines(summary, {}).join('\n')).not.toMatch(/\nlevel /);
    }
  });
});
