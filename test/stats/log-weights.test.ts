import { expect, it } from 'vitest';
import { computeWeights, logSum } from '#stats/log-weights.ts';

it('sums numbers by their logarithms, however large', () => {
  expect(logSum([Math.log(2), Math.log(3)])).toBeCloseTo(Math.log(5), 12);
  expect(logSum([1000, 1000])).toBeCloseTo(1000 + Math.log(2), 9);
  expect(logSum([-2000, Number.NEGATIVE_INFINITY])).toBe(-2000);
});

it('makes weights that add up to 1', () => {
  expect(computeWeights([5, 5 + Math.log(3)])).toEqual([expect.closeTo(0.25, 12), expect.closeTo(0.75, 12)]);
});
