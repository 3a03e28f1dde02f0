import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { type Random, seededRandom, standardNormal } from '#base/random.ts';
import type { Measurement } from '#profiler/measurement.ts';
import type { Candidate } from '#space/types.ts';
import { LIKELY, RECOMMENDED_CHANCE, SAFE_CHANCE } from '#study/level-chances.ts';
import { type LevelCurve, levelCurve } from '#study/level-curve.ts';
import { chooseLevels } from '#study/recommended.ts';
import type { Goal, LevelRange } from '#study/types.ts';
import { configOf, goalOf, measured, toCandidate } from './builders.ts';

const range: LevelRange = { mode: 'concurrency', low: 1, high: 256 };
const rates: LevelRange = { mode: 'request-rate', low: 10, high: 5000 };
const BUDGET = { percentile: 99, latencyMs: 20 } as const;

/**
 * A p99 of `atOne` milliseconds at level 1 that grows as a power of the level; throughput by
 * Little's law.
 */
interface PowerLaw {
  readonly atOne: number;
  readonly slope: number;
}
const p99Of = ({ atOne, slope }: PowerLaw, level: number): number => atOne * level ** slope;
const edgeOf = ({ atOne, slope }: PowerLaw): number => (BUDGET.latencyMs / atOne) ** (1 / slope);

function read(law: PowerLaw, level: number, luck = 1, mode: LevelRange['mode'] = 'concurrency'): Measurement {
  const p99Ms = luck * p99Of(law, level);
  const throughput = mode === 'concurrency' ? (1000 * level) / (0.8 * p99Of(law, level)) : level;
  return measured(level, throughput, p99Ms, { level: { mode, value: level } });
}

const noisyRead = (law: PowerLaw, level: number, random: Random, sd: number): Measurement =>
  read(law, level, Math.exp(sd * standardNormal(random)));

function curveOf(readings: readonly Measurement[], levels = range, wholeBatch = 1): LevelCurve {
  const curve = levelCurve(readings, BUDGET, levels, wholeBatch);
  if (!curve) throw new Error('no curve');
  return curve;
}

/** Far apart: the first draws of near seeds are alike. */
const seedOf = (index: number): number => ((index + 1) * 0x9e3779b1) | 0;
const usual: PowerLaw = { atOne: 1.1, slope: 0.9 };

describe('the curve over the levels', () => {
  it('goes through the readings where there are many, and says so', () => {
    const levels = [8, 12, 16, 20, 24, 28, 32, 36];
    const curve = curveOf(levels.map((level) => read(usual, level)));
    for (const level of levels) {
      expect(Math.exp(curve.latency(level).mean) / p99Of(usual, level)).toBeCloseTo(1, 1);
      expect(Math.abs(Math.exp(curve.throughput(level).mean) / read(usual, level).throughput.value - 1)).toBeLessThan(
        0.05,
      );
    }
    const edge = edgeOf(usual);
    expect(curve.chance(0.7 * edge)).toBeGreaterThan(0.95);
    expect(curve.chance(edge)).toBeGreaterThan(0.25);
    expect(curve.chance(edge)).toBeLessThan(0.75);
    expect(curve.chance(1.4 * edge)).toBeLessThan(0.05);
  });

  it('gives chances that are kept: of levels with 90 %, eight in ten truly hold, and with 99 % nineteen in twenty', () => {
    const drawn = Array.from({ length: 300 }, (_, index) => {
      const random = seededRandom(seedOf(index));
      const law = { atOne: 0.5 + 1.5 * random.float(), slope: 0.7 + 0.4 * random.float() };
      const edge = edgeOf(law);
      const sd = 0.04 + 0.12 * random.float();
      const levels = Array.from({ length: 3 + (index % 4) }, () =>
        Math.max(1, Math.round(edge * (0.5 + 0.8 * random.float()))),
      );
      const curve = curveOf(levels.map((level) => noisyRead(law, level, random, sd)));
      return { law, recommended: curve.highest(RECOMMENDED_CHANCE), safe: curve.highest(SAFE_CHANCE) };
    });
    const held = (of: 'recommended' | 'safe'): number => {
      const known = drawn.flatMap(({ law, [of]: level }) => (level === null ? [] : [{ law, level }]));
      expect(known.length).toBeGreaterThan(150);
      return known.filter(({ law, level }) => p99Of(law, level) <= BUDGET.latencyMs).length / known.length;
    };
    expect(held('recommended')).toBeGreaterThanOrEqual(0.8);
    expect(held('safe')).toBeGreaterThanOrEqual(0.95);
    expect(held('safe')).toBeGreaterThanOrEqual(held('recommended'));
  });

  it('recommends not much less than what truly holds where readings are good', () => {
    const shares = Array.from({ length: 60 }, (_, index) => {
      const random = seededRandom(seedOf(1000 + index));
      const edge = edgeOf(usual);
      const levels = [0.7, 0.8, 0.9, 0.95, 1.05, 1.15].map((share) => Math.round(share * edge));
      const curve = curveOf(levels.map((level) => noisyRead(usual, level, random, 0.04)));
      return (curve.highest(RECOMMENDED_CHANCE) ?? 0) / edge;
    });
    expect(shares.reduce((sum, share) => sum + share, 0) / shares.length).toBeGreaterThan(0.8);
  });

  it('says little by one reading alone: one that just holds recommends a lower level, or none', () => {
    const edge = Math.floor(edgeOf(usual));
    const one = curveOf([read(usual, edge)]);
    const recommended = one.highest(RECOMMENDED_CHANCE);
    expect(recommended).not.toBeNull();
    expect(recommended).toBeLessThan(edge);
    expect(one.highest(SAFE_CHANCE) ?? 0).toBeLessThan(recommended as number);
    const many = curveOf(Array.from({ length: 6 }, () => read(usual, edge - 2)));
    expect(many.latency(edge - 2).sd).toBeLessThan(one.latency(edge).sd);
    expect(curveOf([read(usual, 4)]).highest(RECOMMENDED_CHANCE)).toBeGreaterThanOrEqual(4);
  });

  it('is never sure of levels far above those that were measured, however much room there is', () => {
    const roomy = { atOne: 0.05, slope: 0.9 };
    for (const top of [8, 20, 60]) {
      const highest = curveOf([top >> 1, top].map((level) => read(roomy, level))).highest(RECOMMENDED_CHANCE) ?? 0;
      expect(highest).toBeGreaterThan(top);
      expect(highest).toBeLessThanOrEqual(1.5 * top);
    }
    // The next whole level is within reach, however low that is.
    expect(curveOf([read(roomy, 1)]).highest(RECOMMENDED_CHANCE)).toBe(2);
  });

  it('goes by what was read below levels that missed', () => {
    // Two late readings of a config that else holds up to 6 have sent it down to 1.
    const before = [
      [4, 13],
      [6, 20],
      [8, 27],
      [5, 17],
      [5, 66],
      [2, 32],
    ] as const;
    const readings = (all: readonly (readonly [number, number])[]) =>
      all.map(([level, p99Ms]) => measured(level, 100 * level, p99Ms));
    const without = curveOf(readings(before));
    const low = curveOf(readings([...before, [1, 8], [1, 8]]));
    expect(low.chance(1)).toBeGreaterThanOrEqual(RECOMMENDED_CHANCE);
    expect(low.chance(1)).toBeGreaterThan(without.chance(1));
    expect(low.latency(1).sd).toBeLessThan(without.latency(1).sd);
    const late = curveOf(readings([...before, [1, 40], [1, 40]]));
    expect(late.highest(RECOMMENDED_CHANCE)).toBeNull();
  });

  it('recommends a low measured level that serves as much as the highest that holds', () => {
    const saturated = [4, 8, 12, 16, 20].map((level) => measured(level, 1000, level));
    const { highest, recommended } = curveOf(saturated);
    expect(highest(RECOMMENDED_CHANCE)).toBeGreaterThan(14);
    expect([4, 8]).toContain(recommended?.level);
    // Where each request more is served beside the others, the highest is.
    const growing = curveOf([8, 12, 16, 20, 24].map((level) => read({ atOne: 4, slope: 0.5 }, level)));
    expect(growing.recommended?.level).toBe(growing.highest(RECOMMENDED_CHANCE));
    expect(curveOf([read({ atOne: 40, slope: 0.5 }, 1)]).recommended).toBeNull();
  });

  it('does not go far below for a chance that hardly depends on the level', () => {
    // Three quarters sure at 8 and at 32, and four times the throughput there.
    const flat = [8, 16, 32].flatMap((level) => [19, 20.6, 18.4].map((p99Ms) => measured(level, 100 * level, p99Ms)));
    const { chance, recommended } = curveOf(flat);
    expect(chance(8)).toBeLessThan(0.97);
    expect(recommended?.level).toBeGreaterThanOrEqual(32);
    expect(chance(recommended?.level ?? 0)).toBeGreaterThanOrEqual(LIKELY);
  });

  it('goes by the highest level that kept the budget where a lower one came nearer to it', () => {
    // A request alone is as slow as a batch of 16: batches cost the same however full they are.
    const batched = curveOf([measured(1, 50, 13), measured(16, 930, 12)]);
    expect(batched.recommended?.level).toBeGreaterThanOrEqual(16);
    expect(batched.chance(16)).toBeGreaterThanOrEqual(RECOMMENDED_CHANCE);
    // Nor does a late reading of a low level hide it.
    const stalled = curveOf([measured(1, 50, 21), measured(16, 930, 12), measured(16, 930, 12.4)]);
    expect(stalled.recommended?.level).toBeGreaterThanOrEqual(16);
  });

  it('has no level where even the lowest is too late', () => {
    const never = { atOne: 40, slope: 0.5 };
    expect(curveOf([1, 2, 4].map((level) => read(never, level))).highest(RECOMMENDED_CHANCE)).toBeNull();
  });

  it('looks at whole batches where one is filled, and at every level below', () => {
    const readings = [8, 16, 24, 32].map((level) => read({ atOne: 0.6, slope: 0.95 }, level));
    const batches = curveOf(readings, range, 8).highest(RECOMMENDED_CHANCE) ?? 0;
    expect(batches).toBeGreaterThanOrEqual(24);
    expect(batches % 8).toBe(0);
    const single = curveOf(readings, range, 1);
    expect(single.highest(RECOMMENDED_CHANCE)).toBeGreaterThanOrEqual(batches);
    // Levels that fill no batch are less known than the filled ones beside them.
    const { latency } = curveOf(readings, range, 8);
    expect(latency(20).sd).toBeGreaterThan(1.3 * single.latency(20).sd);
    const few = [2, 3, 4, 5].map((level) => read({ atOne: 3.4, slope: 1 }, level));
    expect(curveOf(few, range, 8).highest(RECOMMENDED_CHANCE)).toBeGreaterThan(2);
    expect(curveOf(few, range, 8).highest(RECOMMENDED_CHANCE)).toBeLessThan(6);
  });

  it('passes over what the client limited, another mode, and another percentile', () => {
    const good = [16, 20, 24].map((level) => read(usual, level));
    const [first] = good as [Measurement];
    const bound = { ...read(usual, 20, 0.1), client: { ...first.client, bound: true, reason: 'x' } };
    const median = { ...read(usual, 20, 0.1), budgetLatencyMs: { value: 2, low: 2, high: 2, percentile: 50 } };
    const open = read(usual, 20, 0.1, 'request-rate');
    const alone = curveOf(good);
    for (const other of [bound, median, open]) {
      const beside = curveOf([...good, other]);
      expect(beside.latency(20)).toEqual(alone.latency(20));
      expect(levelCurve([other], BUDGET, range, 1)).toBeNull();
    }
    expect(levelCurve([], BUDGET, range, 1)).toBeNull();
  });

  it('looks for request rates in small steps, and takes them to be served', () => {
    const law = { atOne: 0.05, slope: 0.9 };
    const edge = edgeOf(law);
    const shares = [0.6, 0.8, 0.9, 1, 1.2];
    const curve = curveOf(
      shares.map((share) => read(law, Math.round(share * edge), 1, 'request-rate')),
      rates,
    );
    const recommended = curve.highest(RECOMMENDED_CHANCE) ?? 0;
    expect(recommended).toBeGreaterThan(0.7 * edge);
    expect(recommended).toBeLessThan(edge);
    expect(Math.exp(curve.throughput(recommended).mean) / recommended).toBeCloseTo(1, 1);
  });

  const anyReadings = fc.array(
    fc.record({ level: fc.integer({ min: 1, max: 256 }), p99Ms: fc.double({ min: 0.1, max: 500, noNaN: true }) }),
    { minLength: 1, maxLength: 10 },
  );

  it('recommends no level outside of the range, whatever was read', () => {
    fc.assert(
      fc.property(anyReadings, fc.integer({ min: 1, max: 32 }), (readings, batch) => {
        const curve = curveOf(
          readings.map(({ level, p99Ms }) => measured(level, 100, p99Ms)),
          range,
          batch,
        );
        for (const chance of [0.5, RECOMMENDED_CHANCE, SAFE_CHANCE]) {
          const level = curve.highest(chance);
          if (level === null) continue;
          expect(level).toBeGreaterThanOrEqual(range.low);
          expect(level).toBeLessThanOrEqual(range.high);
          expect(curve.chance(level)).toBeGreaterThanOrEqual(chance);
        }
        expect(curve.highest(SAFE_CHANCE) ?? 0).toBeLessThanOrEqual(curve.highest(RECOMMENDED_CHANCE) ?? 0);
      }),
    );
  });

  it('gives less chance to a tighter budget, by the same readings', () => {
    fc.assert(
      fc.property(
        anyReadings,
        fc.integer({ min: 1, max: 256 }),
        fc.double({ min: 0.3, max: 0.99, noNaN: true }),
        (readings, level, share) => {
          // Of the same levels: which readings are near the budget hangs on it.
          const near = readings.map(({ p99Ms }, index) => measured(20 + index, 100, p99Ms));
          const chanceIn = (latencyMs: number): number =>
            levelCurve(near, { ...BUDGET, latencyMs }, range, 1)?.chance(level) ?? Number.NaN;
          expect(chanceIn(share * BUDGET.latencyMs)).toBeLessThanOrEqual(chanceIn(BUDGET.latencyMs));
        },
      ),
    );
  });
});

describe('the levels of a config', () => {
  const candidate = toCandidate(configOf(1, 1));
  const readings = [8, 16, 20, 24].map((level) => read(usual, level));
  const fewErrors = { metric: 'error-rate', relation: '<=', value: 0.01 } as const;

  it('come from the curve where throughput within a budget is asked for', () => {
    const { curve, recommended } = chooseLevels(readings, candidate, goalOf(BUDGET.latencyMs), range);
    if (!curve || recommended === null) throw new Error('no level');
    expect(curve.chance(recommended)).toBeGreaterThanOrEqual(RECOMMENDED_CHANCE);
    expect(recommended).toBe(curve.recommended?.level);
  });

  it('knows how many requests fill a batch with dynamic batching, and that they wait for no other without', () => {
    const batching = toCandidate(configOf(1, 8, { dynamic_batching: {} }));
    const of = (config: Candidate) => chooseLevels(readings, config, goalOf(BUDGET.latencyMs), range).curve;
    // 19 requests are two batches of 8 and a part of one.
    expect(of(batching)?.latency(19).sd).toBeGreaterThan(1.2 * (of(candidate)?.latency(19).sd ?? 0));
    const filled = of(batching)?.latency(16).sd ?? 0;
    expect(of(batching)?.latency(19).sd).toBeGreaterThan(1.2 * filled);
  });

  it.each([
    ['without a budget', goalOf(null)],
    ['for the lowest latency', goalOf(BUDGET.latencyMs, { objectives: [{ metric: 'latency-p99', weight: 1 }] })],
  ])('come from the readings themselves %s: the best that most of them met', (_, goal) => {
    const { curve, recommended } = chooseLevels(readings, candidate, goal, range);
    expect(curve).toBeNull();
    expect(readings.map(({ level }) => level.value)).toContain(recommended);
    const once = readings.map((each) => (each.level.value === recommended ? { ...each, errorRate: 0.5 } : each));
    const failing: Goal = { ...goal, constraints: [fewErrors] };
    expect(chooseLevels(once, candidate, failing, range).recommended).not.toBe(recommended);
  });

  it('leave out readings that miss another constraint', () => {
    const failing = readings.map((each) => (each.level.value > 16 ? { ...each, errorRate: 0.5 } : each));
    const goal = goalOf(BUDGET.latencyMs, { constraints: [fewErrors] });
    const of = (all: readonly Measurement[]) => chooseLevels(all, candidate, goal, range).recommended ?? 0;
    expect(of(failing)).toBeLessThanOrEqual(of(readings));
    expect(chooseLevels(failing.slice(2), candidate, goal, range)).toEqual({ curve: null, recommended: null });
  });
});
