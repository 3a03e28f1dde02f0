import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { chooseLevel, type LevelOutcome, type LevelSearch, nextLevel } from '#study/goal/levels.ts';

type Law = (level: number) => Omit<LevelOutcome, 'level'>;

/**
 * A server of `capacity` infer/s that takes `floorMs` when idle, in a closed loop (Little's law
 * beyond saturation).
 */
const server =
  (capacity: number, floorMs: number, budgetMs: number): Law =>
  (level) => {
    const throughput = Math.min(capacity, (level * 1000) / floorMs);
    const latencyMs = (level * 1000) / throughput;
    return {
      feasible: latencyMs <= budgetMs,
      cost: -Math.log(throughput),
      violation: Math.max(0, latencyMs / budgetMs - 1),
    };
  };

function run(law: Law, search: Partial<LevelSearch> & { low?: number; high?: number; mode?: 'request-rate' } = {}) {
  const { low = 1, high = 128, mode = 'concurrency', hint } = search;
  const full: LevelSearch = { range: { mode, low, high }, ...(hint !== undefined && { hint }) };
  const outcomes: LevelOutcome[] = [];
  for (let step = 0; step < 100; step++) {
    const next = nextLevel(outcomes, full);
    if (next.kind === 'done') {
      const chosen = chooseLevel(outcomes);
      return {
        levels: outcomes.map((each) => each.level),
        chosen: chosen === null ? null : outcomes[chosen]?.level,
        reason: next.reason,
      };
    }
    outcomes.push({ level: next.level, ...law(next.level) });
  }
  throw new Error('the level search does not end');
}

describe('the level search', () => {
  it('doubles until the budget is missed, then bisects to within an eighth', () => {
    expect(run(server(1e6, 10, 10), { high: 16 }).levels).toEqual([1, 2, 4, 8, 16]);
    const law: Law = (level) => ({
      feasible: level <= 23,
      cost: -Math.log(level),
      violation: Math.max(0, level / 23 - 1),
    });
    expect(run(law)).toEqual({ levels: [1, 2, 4, 8, 16, 32, 24, 20, 22], chosen: 22, reason: 'the bracket is narrow' });
  });

  it('bisects down to adjacent levels where levels are low', () => {
    const law: Law = (level) => ({
      feasible: level <= 5,
      cost: -Math.log(level),
      violation: Math.max(0, level / 5 - 1),
    });
    expect(run(law)).toMatchObject({ levels: [1, 2, 4, 8, 6, 5], chosen: 5 });
  });

  it('stops at saturation without a budget, and takes the lowest of the levels that are alike', () => {
    expect(run(server(400, 10, Number.POSITIVE_INFINITY))).toEqual({
      levels: [1, 2, 4, 8, 16],
      chosen: 4,
      reason: 'saturation',
    });
  });

  it('does not bisect towards a level that would gain nothing', () => {
    expect(run(server(400, 10, 25))).toEqual({ levels: [1, 2, 4, 8, 16], chosen: 4, reason: 'the constraints' });
  });

  it('looks one level on when the first misses, because a batching delay is longest when idle', () => {
    const law: Law = (level) => ({
      feasible: level >= 4 && level <= 12,
      cost: -Math.log(level),
      violation: level < 4 ? 1 / level : Math.max(0, level / 12 - 1),
    });
    expect(run(law)).toMatchObject({ levels: [1, 2, 4, 8, 16, 12, 14, 13], chosen: 12 });
  });

  it('gives up after two levels when nothing can meet the goal', () => {
    expect(run(server(100, 10, 5))).toEqual({ levels: [1, 2], chosen: 1, reason: 'no level meets the goal' });
  });

  it('gives up when nothing is served at all', () => {
    const dead: Law = () => ({ feasible: false, cost: Number.POSITIVE_INFINITY, violation: Number.POSITIVE_INFINITY });
    expect(run(dead)).toMatchObject({ levels: [1, 2], chosen: 1 });
    expect(run(dead, { hint: 64 }).levels).toEqual([64, 8, 1]);
  });

  it('starts from a hint, upwards', () => {
    const law: Law = (level) => ({
      feasible: level <= 40,
      cost: -Math.log(level),
      violation: Math.max(0, level / 40 - 1),
    });
    expect(run(law, { hint: 22 })).toMatchObject({ levels: [22, 44, 33, 39, 42], chosen: 39 });
  });

  it('starts from a hint, downwards, by as much as it misses', () => {
    const law: Law = (level) => ({
      feasible: level <= 6,
      cost: -Math.log(level),
      violation: Math.max(0, level / 6 - 1),
    });
    expect(run(law, { hint: 32 })).toMatchObject({ levels: [32, 6, 14, 9, 8, 7], chosen: 6 });
  });

  it('keeps the hint within the range', () => {
    expect(run(server(1e6, 10, 100), { hint: 500, high: 64 }).levels).toEqual([64]);
    expect(run(server(1e6, 10, 100), { hint: 0.2, low: 2, high: 4 }).levels).toEqual([2, 4]);
  });

  it('goes down to the lowest level that meets a required rate when the objective is latency', () => {
    const law: Law = (level) => ({
      feasible: level >= 11,
      cost: Math.log(level),
      violation: Math.max(0, 1 - level / 11),
    });
    expect(run(law)).toMatchObject({ levels: [1, 2, 4, 8, 16, 12, 10, 11], chosen: 11 });
    expect(run(law, { hint: 64 })).toMatchObject({ chosen: 11 });
  });

  it('searches request rates too, which need not be whole', () => {
    const law: Law = (rate) => ({
      feasible: rate <= 2.7,
      cost: -Math.log(rate),
      violation: Math.max(0, rate / 2.7 - 1),
    });
    const found = run(law, { mode: 'request-rate', low: 0.5, high: 100 });
    expect(found.levels).toEqual([0.5, 1, 2, 4, 3, 2.5, 2.75]);
    expect(found.chosen).toBe(2.5);
  });

  it('ends, repeats no level, and chooses a feasible one if it met any, however noisy the outcomes are', () => {
    const outcome = fc.record({
      feasible: fc.boolean(),
      cost: fc.double({ min: -10, max: 10, noNaN: true }),
      violation: fc.oneof(fc.double({ min: 0.001, max: 50, noNaN: true }), fc.constant(Number.POSITIVE_INFINITY)),
    });
    const cases = fc.record({
      outcomes: fc.array(outcome, { minLength: 40, maxLength: 40 }),
      low: fc.integer({ min: 1, max: 20 }),
      span: fc.integer({ min: 0, max: 2000 }),
      hint: fc.option(fc.integer({ min: 1, max: 3000 }), { nil: undefined }),
    });
    fc.assert(
      fc.property(cases, ({ outcomes, low, span, hint }) => {
        const met = new Set<number>();
        let step = 0;
        const law: Law = (level) => {
          const found = outcomes[step++ % outcomes.length] as Omit<LevelOutcome, 'level'>;
          if (found.feasible) met.add(level);
          return found.feasible ? { ...found, violation: 0 } : found;
        };
        const found = run(law, { low, high: low + span, ...(hint !== undefined && { hint }) });
        expect(new Set(found.levels).size).toBe(found.levels.length);
        expect(found.levels.every((level) => level >= low && level <= low + span)).toBe(true);
        if (met.size > 0) expect(met.has(found.chosen as number)).toBe(true);
        expect(found.levels.length).toBeLessThan(30);
      }),
    );
  });

  it('finds the highest feasible level to within an eighth, from any hint', () => {
    const cases = fc.record({ limit: fc.integer({ min: 1, max: 512 }), hint: fc.integer({ min: 1, max: 512 }) });
    fc.assert(
      fc.property(cases, ({ limit, hint }) => {
        const law: Law = (level) => ({
          feasible: level <= limit,
          cost: -Math.log(level),
          violation: Math.max(0, level / limit - 1),
        });
        const { chosen } = run(law, { high: 512, hint });
        expect(chosen).toBeLessThanOrEqual(limit);
        expect(limit - (chosen as number)).toBeLessThanOrEqual(Math.max(0, (chosen as number) / 8));
      }),
    );
  });
});
