import { describe, expect, it } from 'vitest';
import { closingLines } from '../../src/headless/closing.ts';
import { levelCurve } from '../../src/study/level/curve.ts';
import { recommendationAt } from '../../src/study/level/recommendation.ts';
import { foldStudy } from '../../src/study/records/fold.ts';
import type { StudyRecord } from '../../src/study/records/records.ts';
import {
  describeChance,
  describeRecommendation,
  describeRecommendationShort,
} from '../../src/study/summary/describe.ts';
import { summarize } from '../../src/study/summary/summary.ts';
import type { Goal } from '../../src/study/types.ts';
import { candidateOf, goalOf, measured, originalConfig, studyStarted } from './builders.ts';

const range = { mode: 'concurrency', low: 1, high: 64 } as const;
const budget = { percentile: 99, latencyMs: 20 };

/** Latency in proportion to the level: the budget of 20 ms is reached at 20. */
const readings = [4, 8, 12, 16, 24].map((level) => measured(level, 100 + level, level));
const curve = levelCurve(readings, budget, range, 1);
if (!curve) throw new Error('there is no curve');

describe('the recommended level', () => {
  it('is the highest with a chance of 90 %, above the one that is safe at 99 %', () => {
    const { level, safeLevel } = recommendationAt(12, curve, 20);
    if (level === null || safeLevel === null) throw new Error('there is no level');
    expect(curve.chance(level)).toBeGreaterThanOrEqual(0.9);
    expect(curve.chance(level + 1)).toBeLessThan(0.9);
    expect(curve.chance(safeLevel)).toBeGreaterThanOrEqual(0.99);
    expect(safeLevel).toBeLessThan(level);
    expect(level).toBeLessThan(20);
  });

  it('has the chance and the margin of the level that is reported', () => {
    const [low, high] = [recommendationAt(8, curve, 20), recommendationAt(24, curve, 20)];
    expect(low.chance).toBeGreaterThan(0.99);
    expect(low.margin).toBeCloseTo(0.6, 1);
    expect(high.chance).toBeLessThan(0.5);
    expect(high.margin).toBeCloseTo(-0.2, 1);
  });

  it('is none where no level holds', () => {
    expect(recommendationAt(4, curve, 0.001)).toMatchObject({ margin: expect.any(Number) });
    const late = levelCurve([measured(1, 100, 50)], budget, range, 1);
    expect(late && recommendationAt(1, late, 20)).toMatchObject({ level: null, safeLevel: null });
  });
});

describe('its words', () => {
  const load = { mode: 'concurrency', value: 64 } as const;
  const recommended = { level: 66, chance: 0.934, safeLevel: 56, margin: 0.081 };

  it('say the chance, the levels and what is left', () => {
    expect(describeRecommendation(recommended, budget, load)).toBe(
      'holds p99 ≤ 20 ms at concurrency 64 with a chance of 93 %; highest at 90 %: 66, at 99 %: 56; 8 % of the budget is left',
    );
    expect(describeRecommendationShort(recommended)).toBe(
      'chance 93 % here; 90 %: 66, 99 %: 56; 8 % of the budget left',
    );
  });

  it('say what is over the budget, and that no level holds', () => {
    const none = { level: null, chance: 0.003, safeLevel: null, margin: -0.25 };
    expect(describeRecommendation(none, budget, load)).toBe(
      'holds p99 ≤ 20 ms at concurrency 64 with a chance of under 1 %; highest at 90 %: none, at 99 %: none; the expected percentile is 25 % over the budget',
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
    { type: 'trial-started', at, trial: 0, role: 'baseline', candidate: candidateOf(originalConfig) },
    ...readings.map((measurement): StudyRecord => ({ type: 'trial-measured', at, trial: 0, measurement })),
    { type: 'trial-finished', at, trial: 0, chosen: 3, feasible: true, failure: null },
  ];
  const summaryOf = (goal: Goal) => summarize(foldStudy(studyOf(goal)), 'journal.jsonl');

  it('has it for the best and the original, at the level that is reported', () => {
    const summary = summaryOf(goalOf(20));
    expect(summary.best?.load.value).toBe(16);
    expect(summary.best?.recommended).toEqual(summary.baseline?.recommended);
    expect(summary.best?.recommended?.margin).toBeCloseTo(0.2, 1);
    expect(closingLines(summary, {}).join('\n')).toMatch(
      /\nlevel +holds p99 ≤ 20 ms at concurrency 16 with a chance of/,
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
