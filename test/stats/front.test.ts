import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { dominates, lowerIsBetter, paretoFront } from '#stats/front.ts';

const cost = fc.oneof(
  fc.integer({ min: 0, max: 6 }),
  fc.constantFrom(Number.POSITIVE_INFINITY, Number.NEGATIVE_INFINITY, Number.NaN),
);
const pointsOf = (dimensions: number): fc.Arbitrary<number[][]> =>
  fc.array(fc.array(cost, { minLength: dimensions, maxLength: dimensions }), { maxLength: 25 });

describe('dominance', () => {
  it.each([
    [[1, 1], [2, 2], true],
    [[1, 2], [1, 3], true],
    [[1, 1], [1, 1], false],
    [[1, 3], [2, 2], false],
    [[2, 2], [1, 1], false],
    [[Number.NaN, 1], [2, 2], false],
    [[Number.NEGATIVE_INFINITY, 1], [0, 1], true],
  ])('%j over %j: %s', (a, b, expected) => {
    expect(dominates(a as number[], b as number[])).toBe(expected);
  });
});

describe('the front', () => {
  it('keeps the trade-offs of throughput and latency, and every twin', () => {
    const measured = [
      [100, 5],
      [200, 9],
      [150, 9],
      [90, 6],
      [200, 9],
      [50, 1],
    ];
    const points = measured.map((values) => lowerIsBetter(values, ['higher', 'lower']));
    expect(paretoFront(points)).toEqual([0, 1, 4, 5]);
  });

  it('is empty without points', () => {
    expect(paretoFront([])).toEqual([]);
  });

  it.each([1, 2, 3, 4])('is what comparing all pairs gives, in %d dimensions', (dimensions) => {
    fc.assert(
      fc.property(pointsOf(dimensions), (points) => {
        const expected = points.flatMap((point, index) =>
          point.some(Number.isNaN) || points.some((other) => dominates(other, point)) ? [] : [index],
        );
        expect(paretoFront(points)).toEqual(expected);
      }),
    );
  });
});
