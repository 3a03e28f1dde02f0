import { describe, expect, it } from 'vitest';
import type { ClientReading } from '../../bench/readings.ts';
import { type Found, found } from '../../bench/truth-figures.ts';
import { levelsAround, type Side } from '../../bench/truth-judge.ts';
import type { Study } from '../../bench/truth-study.ts';
import { rowsOf } from '../../bench/truth-table.ts';

const reading = (throughput: number, p99Ms: number): ClientReading => ({ throughput, p99Ms });

const side = (recommended: number, neutral: Record<number, ClientReading[]>, ours: ClientReading[] = []): Side => ({
  config: { name: 'm' },
  recommended,
  expected: 1000,
  own: null,
  levels: Object.keys(neutral).map(Number),
  neutral: new Map(Object.entries(neutral).map(([level, readings]) => [Number(level), readings])),
  ours,
});

const says = (throughput: number, p99: number, gain: { ratio: number; low: number; high: number } | null): Study =>
  ({
    program: { by: 'a build', file: 'main.js' },
    seconds: 30,
    endedMs: 0,
    summary: { best: { throughput: { value: throughput }, latencyMs: { p99 } }, gain },
    cost: { cpuUsPerRequest: undefined, requestsPerSecond: undefined, beside: undefined },
  }) as unknown as Study;

const best = side(
  16,
  {
    12: [reading(900, 6), reading(450, 6), reading(900, 6)],
    16: [reading(1000, 8), reading(500, 8), reading(1000, 8)],
    20: [reading(1250, 9.5), reading(600, 11), reading(1200, 9.8)],
    24: [reading(1300, 12), reading(650, 14), reading(1300, 12)],
  },
  [reading(1010, 8.4), reading(505, 8.8), reading(1020, 8.2)],
);
const baseline = side(4, { 4: [reading(250, 5), reading(100, 5), reading(200, 5)] });
const subject = { model: 'm', budgetMs: 10 };
const study = says(1100, 7.6, { ratio: 5.2, low: 4.9, high: 5.5 });
const outcome = found(subject, study, best, { side: baseline, level: 4 }, 120_000);

describe('what is found of a study', () => {
  it('takes ratios to our client within rounds, and to the summary by the medians', () => {
    expect(outcome.best?.inTurn.throughput).toBeCloseTo(1.01);
    expect(outcome.best?.inTurn.p99).toBeCloseTo(1.05);
    expect(outcome.best?.claimed.throughput).toBeCloseTo(1.1);
    expect(outcome.best?.claimed.p99).toBeCloseTo(0.95);
    expect(outcome.minutesLater).toBe(2);
  });

  it('holds a level against the most that is served within the budget, by the median and by round', () => {
    expect(outcome.best?.worth).toMatchObject({ level: 20, throughput: 1200 });
    expect(outcome.best?.isWorthOpen).toBe(false);
    expect(outcome.best?.share).toBeCloseTo(1000 / 1200);
    // 0.8, then 1 in the round in which 20 missed the budget, then 0.83.
    expect(outcome.best?.shareByRound).toBeCloseTo(1000 / 1200);
    expect(outcome.best).toMatchObject({ keepsBudget: true, roundsKept: 3, rounds: 3 });
  });

  it('says when the worth may lie above the highest level, and when no level keeps the budget', () => {
    expect(found({ model: 'm', budgetMs: 20 }, study, best, undefined, 0).best?.isWorthOpen).toBe(true);
    const missed = found({ model: 'm', budgetMs: 5 }, study, best, undefined, 0).best;
    expect(missed).toMatchObject({ worth: undefined, share: undefined, shareByRound: undefined, keepsBudget: false });
  });

  it('compares the gain within rounds, each side at its own level', () => {
    // 4, 5 and 5 by round; the ratio of the medians is 5 as well, that of the slow round alone
    // would be 2.
    expect(outcome.gain).toMatchObject({ again: 5, holds: true });
    const surer = says(1100, 7.6, { ratio: 5.2, low: 5.1, high: 5.3 });
    expect(found(subject, surer, best, { side: baseline, level: 4 }, 0).gain?.holds).toBe(false);
    expect(found(subject, says(1100, 7.6, null), best, { side: baseline, level: 4 }, 0).gain).toBeUndefined();
  });
});

describe('the table', () => {
  const metOf = (all: readonly Found[], figure: RegExp): boolean | null | undefined =>
    rowsOf(all).find((row) => figure.test(row.figure))?.met;

  it('meets a count at nine of ten, and not at eight', () => {
    const silent = found(subject, study, undefined, undefined, 0);
    const nine = [...Array.from({ length: 9 }, () => outcome), silent];
    expect(metOf(nine, /keeps the budget/)).toBe(true);
    expect(metOf([...nine.slice(1), silent], /keeps the budget/)).toBe(false);
    expect(metOf([outcome], /recommended level over the worth/)).toBe(false);
  });

  it('claims nothing where nothing was said', () => {
    expect(metOf([outcome], /CPU of the process beside sending/)).toBeNull();
    expect(metOf([], /keeps the budget/)).toBeNull();
  });
});

describe('the levels around a recommended one', () => {
  it('have it among them, none twice and none below one', () => {
    expect(levelsAround(20, [0.7, 0.85, 1, 1.2, 1.45, 1.75])).toEqual([14, 17, 20, 24, 29, 35]);
    expect(levelsAround(1, [0.7, 0.85, 1, 1.2, 1.45, 1.75])).toEqual([1, 2]);
  });
});
