import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { type Distribution, distributionText, wholeNumbers } from '#base/distribution.ts';
import { seededRandom } from '#base/random.ts';

const DRAWS = 20_000;
function drawn(distribution: Distribution, least = 1): { values: number[]; mean: number; std: number } {
  const next = wholeNumbers(distribution, seededRandom(3), least);
  const values = Array.from({ length: DRAWS }, next);
  const mean = values.reduce((sum, value) => sum + value, 0) / DRAWS;
  return { values, mean, std: Math.sqrt(values.reduce((sum, value) => sum + (value - mean) ** 2, 0) / DRAWS) };
}

describe('a distribution', () => {
  it.each(['normal', 'log-normal'] as const)('%s has the mean and the deviation that it says', (kind) => {
    const { mean, std } = drawn({ kind, mean: 500, std: 100 });
    expect(mean / 500).toBeCloseTo(1, 1);
    expect(std / 100).toBeCloseTo(1, 1);
  });

  it('log-normal is skewed: its median is below its mean', () => {
    const { values, mean } = drawn({ kind: 'log-normal', mean: 500, std: 500 });
    // The median of a log-normal is m² / √(m² + s²).
    expect((values.sort((a, b) => a - b)[DRAWS / 2] as number) / (500 / Math.SQRT2)).toBeCloseTo(1, 1);
    expect(mean / 500).toBeCloseTo(1, 1);
  });

  it('keeps its limits without heaping values at them', () => {
    const { values } = drawn({ kind: 'normal', mean: 100, std: 80, min: 50, max: 150 });
    expect([Math.min(...values), Math.max(...values)]).toEqual([50, 150]);
    expect(values.filter((value) => value === 50).length).toBeLessThan(DRAWS / 50);
  });

  it('gives whole numbers, none below the least', () => {
    const figure = fc.integer({ min: 0, max: 2000 });
    const any = fc.oneof(
      figure.map((value): Distribution => ({ kind: 'constant', value })),
      fc
        .tuple(figure, figure)
        .map(([a, b]): Distribution => ({ kind: 'uniform', low: Math.min(a, b), high: Math.max(a, b) })),
      fc
        .tuple(fc.constantFrom('normal' as const, 'log-normal' as const), figure, figure)
        .map(([kind, mean, std]): Distribution => ({ kind, mean: mean + 1, std })),
    );
    fc.assert(
      fc.property(any, fc.integer({ min: 0, max: 3 }), (distribution, least) => {
        const next = wholeNumbers(distribution, seededRandom(1), least);
        for (let draw = 0; draw < 20; draw++) {
          const value = next();
          expect(Number.isInteger(value) && value >= least).toBe(true);
        }
      }),
    );
  });

  it('is written as options take it', () => {
    expect(distributionText({ kind: 'constant', value: 512 })).toBe('512');
    expect(distributionText({ kind: 'uniform', low: 1, high: 9 })).toBe('1:9');
    expect(distributionText({ kind: 'log-normal', mean: 512, std: 100, max: 900 })).toBe('log-normal:512,100,,900');
  });
});
