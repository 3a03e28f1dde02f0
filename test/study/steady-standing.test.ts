import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { computeStanding, steadyStanding } from '#study/goal/ranking.ts';
import { atSpeed } from '#study/speed/at-speed.ts';
import { configOf, goalOf, measured, toCandidate } from './builders.ts';

const candidate = toCandidate(configOf(1, 4));
const goal = goalOf(80);
/** Two levels that are about equally good, read at different moments. `measured` gives ±2 %. */
const asMeasured = [measured(16, 565, 30), measured(32, 568, 60)];
const speedOf = (value: number) => ({ value, low: value * 0.96, high: value * 1.04 });
const standing = (before: number, first: number, second: number, goalNow = goal) => {
  const [a, b] = asMeasured.map((each, index) => atSpeed(each, speedOf(index === 0 ? first : second), 1));
  return steadyStanding(before, a && b ? [a, b] : [], candidate, goalNow);
};

describe('the level that stands for a trial as the estimate of the speed moves', () => {
  it('stays while the two are equal within their intervals', () => {
    const estimates = [0.975, 1, 1.025];
    const plain = new Set<number | null>();
    for (const first of estimates) {
      for (const second of estimates) {
        const scaled = asMeasured.map((each, index) => atSpeed(each, speedOf(index === 0 ? first : second), 1));
        plain.add(computeStanding(scaled, candidate, goal).chosen);
        expect(standing(1, first, second)).toEqual({ chosen: 1, feasible: true });
        expect(standing(0, first, second)).toEqual({ chosen: 0, feasible: true });
      }
    }
    // Without it, the same estimates change the level to and fro.
    expect([...plain].sort()).toEqual([0, 1]);
  });

  it('changes where another is clearly better, and where it misses the goal', () => {
    expect(standing(1, 0.7, 1)).toEqual({ chosen: 0, feasible: true });
    expect(standing(1, 1, 1, goalOf(50))).toEqual({ chosen: 0, feasible: true });
    expect(standing(1, 1, 1, goalOf(1))).toMatchObject({ feasible: false });
  });

  it('is never worse than the best by more than both intervals', () => {
    fc.assert(
      fc.property(
        fc.double({ min: 0.5, max: 2, noNaN: true }),
        fc.double({ min: 0.5, max: 2, noNaN: true }),
        (a, b) => {
          const scaled = asMeasured.map((each, index) => atSpeed(each, speedOf(index === 0 ? a : b), 1));
          const { chosen } = steadyStanding(1, scaled, candidate, goal);
          const of = (index: number | null): number => (index === null ? 0 : (scaled[index]?.throughput.value ?? 0));
          if (scaled.every(({ budgetLatencyMs }) => budgetLatencyMs.value <= 80))
            expect(of(chosen)).toBeGreaterThan(0.85 * Math.max(of(0), of(1)));
        },
      ),
    );
  });
});
