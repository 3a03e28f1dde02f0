import { describe, expect, it } from 'vitest';
import { studentTProbability, studentTQuantile } from '#stats/student-t.ts';

describe('studentTQuantile', () => {
  // From printed tables of the t distribution.
  it.each([
    [0.975, 1, 12.7062],
    [0.975, 2, 4.3027],
    [0.975, 3, 3.1824],
    [0.975, 5, 2.5706],
    [0.975, 10, 2.2281],
    [0.975, 14, 2.1448],
    [0.975, 30, 2.0423],
    [0.975, 120, 1.9799],
    [0.95, 4, 2.1318],
    [0.9, 7, 1.4149],
    [0.995, 20, 2.8453],
    [0.999, 1, 318.3088],
    [0.975, 1e6, 1.96],
    [0.5, 9, 0],
  ])('p=%d with %d degrees is %d', (p, degrees, expected) => {
    expect(studentTQuantile(p, degrees)).toBeCloseTo(expected, expected > 100 ? 2 : 4);
  });

  it('has a closed form for one and two degrees of freedom', () => {
    for (const p of [0.6, 0.8, 0.99, 0.9999]) {
      expect(studentTQuantile(p, 1) / Math.tan(Math.PI * (p - 0.5))).toBeCloseTo(1, 8);
      expect(studentTQuantile(p, 2) / ((2 * p - 1) / Math.sqrt(2 * p * (1 - p)))).toBeCloseTo(1, 8);
    }
  });

  it('refuses what has no answer', () => {
    expect(() => studentTQuantile(1, 3)).toThrow(RangeError);
    expect(() => studentTQuantile(0.975, 0)).toThrow(RangeError);
  });
});

describe('studentTProbability', () => {
  it('turns the quantile round', () => {
    for (const degrees of [1, 2.5, 8, 40]) {
      for (const p of [0.5, 0.6, 0.975, 0.9999]) {
        expect(studentTProbability(studentTQuantile(p, degrees), degrees)).toBeCloseTo(p, 9);
      }
    }
    expect(studentTProbability(Number.POSITIVE_INFINITY, 3)).toBe(1);
    expect(() => studentTProbability(-1, 3)).toThrow(RangeError);
  });
});
