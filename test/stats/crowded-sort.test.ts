import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  type ConstrainedPoint,
  compareCrowded,
  constrainedFronts,
  crowdedRanks,
  crowdingDistances,
} from '#stats/crowded-sort.ts';
import { dominates } from '#stats/front.ts';

const kept = (...costs: number[]): ConstrainedPoint => ({ costs, violation: 0 });
const missed = (violation: number, ...costs: number[]): ConstrainedPoint => ({ costs, violation });
const { POSITIVE_INFINITY } = Number;

/** Constrained domination as it is defined, pair by pair. */
const beats = (a: ConstrainedPoint, b: ConstrainedPoint): boolean =>
  a.violation === 0 && b.violation === 0 ? dominates(a.costs, b.costs) : a.violation < b.violation;

const points = fc.array(
  fc.record({
    costs: fc.tuple(fc.integer({ min: 0, max: 5 }), fc.integer({ min: 0, max: 5 }), fc.integer({ min: 0, max: 2 })),
    violation: fc.constantFrom(0, 0, 0, 0.5, 2, POSITIVE_INFINITY),
  }),
  { maxLength: 20 },
);

describe('fronts under constraints', () => {
  it('peels the front off what meets the constraints, then goes by what they are missed by', () => {
    const several = [
      kept(2, 2),
      missed(3, 0, 0),
      kept(1, 3),
      kept(3, 3),
      missed(1, 9, 9),
      kept(3, 1),
      kept(4, 4),
      missed(3, 5, 5),
    ];
    expect(constrainedFronts(several)).toEqual([[0, 2, 5], [3], [6], [4], [1, 7]]);
  });

  it('puts every point on the front that the longest chain of better points above it says', () => {
    fc.assert(
      fc.property(points, (several) => {
        const depthOf = (index: number): number => {
          const better = several.flatMap((other, place) =>
            beats(other, several[index] as ConstrainedPoint) ? [place] : [],
          );
          return Math.max(0, ...better.map((place) => depthOf(place) + 1));
        };
        const memo = several.map((_, index) => depthOf(index));
        expect(crowdedRanks(several).map(({ front }) => front)).toEqual(memo);
      }),
      { numRuns: 60 },
    );
  });

  it('ends with points whose costs are not numbers', () => {
    expect(constrainedFronts([kept(Number.NaN, 1), kept(1, 1), kept(2, Number.NaN)])).toEqual([[1], [0, 2]]);
  });
});

describe('crowding', () => {
  it('is the gap between the neighbours over the extent, summed over the objectives', () => {
    const front = [
      [0, 10],
      [1, 6],
      [3, 2],
      [10, 0],
    ];
    expect(crowdingDistances(front)).toEqual([
      POSITIVE_INFINITY,
      expect.closeTo(3 / 10 + 8 / 10),
      expect.closeTo(9 / 10 + 6 / 10),
      POSITIVE_INFINITY,
    ]);
  });

  it('does not count an objective in which all are alike, or that has no end', () => {
    expect(
      crowdingDistances([
        [0, 7],
        [1, 7],
        [4, 7],
      ]),
    ).toEqual([POSITIVE_INFINITY, 1, POSITIVE_INFINITY]);
    expect(crowdingDistances([[POSITIVE_INFINITY], [POSITIVE_INFINITY]])).toEqual([0, 0]);
    expect(crowdingDistances([])).toEqual([]);
  });

  it('orders by front, then by room', () => {
    const ranks = [
      { front: 1, crowding: POSITIVE_INFINITY },
      { front: 0, crowding: 0.5 },
      { front: 0, crowding: POSITIVE_INFINITY },
      { front: 0, crowding: POSITIVE_INFINITY },
    ];
    expect([...ranks].sort(compareCrowded)).toEqual([ranks[2], ranks[3], ranks[1], ranks[0]]);
  });
});
