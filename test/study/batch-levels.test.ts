import { describe, expect, it } from 'vitest';
import { type LoadOutcome, nextLoad } from '#study/goal/batch-levels.ts';
import { chooseLevel } from '#study/goal/levels.ts';
import { findInFlight, lineThrough, trialAlong } from '#study/level-line.ts';
import type { LevelPoint, LevelRange } from '#study/types.ts';
import { configOf, measured, trialOf } from './builders.ts';

/** One instance that takes a + b × batch ms and serves one request at a time. */
const law =
  (budgetMs: number, executionMs: (batch: number) => number) =>
  ({ value, batch = 1 }: LevelPoint): Omit<LoadOutcome, 'level'> => {
    const latencyMs = value * executionMs(batch) + 0.5;
    const perSecond = (value * batch * 1e3) / Math.max(latencyMs, value * executionMs(batch));
    return {
      feasible: latencyMs <= budgetMs,
      cost: -Math.log(perSecond),
      violation: Math.max(0, latencyMs / budgetMs - 1),
    };
  };

function run(range: LevelRange, of: ReturnType<typeof law>, largestRequest = 1024) {
  const outcomes: LoadOutcome[] = [];
  for (let step = 0; step < 60; step++) {
    const next = nextLoad(outcomes, { range, largestRequest });
    if (next.kind === 'done') {
      const chosen = chooseLevel(outcomes.map((each) => ({ ...each, level: findInFlight(each.level) })));
      return { levels: outcomes.map(({ level }) => level), best: chosen === null ? null : outcomes[chosen] };
    }
    outcomes.push({ level: next.level, ...of(next.level) });
  }
  throw new Error('the search does not end');
}

const offline: LevelRange = { mode: 'concurrency', low: 1, high: 1, batch: { low: 1, high: 128 } };

describe('the search over client batches', () => {
  it('searches batches as levels are searched where concurrency is given', () => {
    const { levels, best } = run(
      offline,
      law(10, (batch) => 2 + 0.1 * batch),
    );
    expect(levels.every(({ value }) => value === 1)).toBe(true);
    expect(levels.slice(0, 4).map(({ batch }) => batch)).toEqual([1, 2, 4, 8]);
    // 75 is the last that keeps 10 ms; a bracket of an eighth is narrow.
    expect(best?.level.batch).toBeGreaterThanOrEqual(66);
    expect(best?.level.batch).toBeLessThanOrEqual(75);
    expect(levels.length).toBeLessThanOrEqual(11);
  });

  it('finds the end of a step where batches are padded to multiples of 8', () => {
    const { best } = run(
      offline,
      law(6.2, (batch) => 2 + 0.15 * Math.ceil(batch / 8) * 8),
    );
    // 24 is the last that keeps 6.2 ms.
    expect(best?.level.batch).toBeGreaterThanOrEqual(21);
    expect(best?.level.batch).toBeLessThanOrEqual(24);
  });

  it('sends no request that the config refuses', () => {
    const { levels, best } = run(
      offline,
      law(10, (batch) => 2 + 0.1 * batch),
      32,
    );
    expect(Math.max(...levels.map(({ batch = 1 }) => batch))).toBe(32);
    expect(best?.level.batch).toBe(32);
  });

  it('finds the best pair where both are given', () => {
    const range: LevelRange = { mode: 'concurrency', low: 1, high: 8, batch: { low: 1, high: 64 } };
    const of = law(12, (batch) => 2 + 0.1 * batch);
    const { levels, best } = run(range, of);
    const all = Array.from({ length: 8 }, (_, c) =>
      Array.from({ length: 64 }, (__, b) => ({ value: c + 1, batch: b + 1 })),
    );
    const optimum = Math.max(...all.flat().map((level) => (of(level).feasible ? Math.exp(-of(level).cost) : 0)));
    expect(Math.exp(-(best?.cost ?? 0)) / optimum).toBeGreaterThan(0.9);
    expect(levels.length).toBeLessThanOrEqual(30);
    expect(new Set(levels.map(({ value, batch }) => `${value} ${batch}`)).size).toBe(levels.length);
  });
});

describe('a line of levels', () => {
  const at = (value: number, batch: number) => measured(1, 100, 5, { level: { mode: 'concurrency', value, batch } });

  it('has the batch as position where that alone varies', () => {
    const line = lineThrough({ value: 1, batch: 8 }, offline);
    expect(line.range).toEqual({ mode: 'concurrency', low: 1, high: 128 });
    expect([line.toPosition({ value: 1, batch: 32 }), line.toPosition({ value: 2, batch: 32 })]).toEqual([32, null]);
    expect(line.levelAt(24)).toEqual({ value: 1, batch: 24 });
  });

  it('keeps what a trial measured at the batch that it stands for', () => {
    const range: LevelRange = { mode: 'concurrency', low: 1, high: 8, batch: { low: 1, high: 64 } };
    const trial = trialOf(1, configOf(1, 64), { measurements: [at(1, 4), at(2, 16), at(4, 16)], chosen: 2 });
    const along = trialAlong(trial, lineThrough({ value: 4, batch: 16 }, range));
    expect(along.measurements.map(({ level }) => level.value)).toEqual([2, 4]);
    expect(along.chosen).toBe(1);
  });
});
