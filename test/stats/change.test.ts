import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { changeBetween } from '../../src/stats/change.ts';

const around = (value: number, share: number) => ({ value, low: value / (1 + share), high: value * (1 + share) });

describe('the change between two readings', () => {
  it('has the ratio, and an interval from both of theirs', () => {
    const { ratio, low, high, sureness } = changeBetween(around(100, 0.03), around(90, 0.04), 0.95);
    expect(ratio).toBeCloseTo(0.9, 12);
    // Errors of 3 % and 4 % are one of 5 %, on logarithms.
    const half = Math.hypot(Math.log(1.03), Math.log(1.04));
    expect(low).toBeCloseTo(0.9 * Math.exp(-half), 3);
    expect(high).toBeCloseTo(0.9 * Math.exp(half), 3);
    expect(sureness).toBeGreaterThan(0.99);
  });

  it('is the surer the further apart they are', () => {
    const sureness = (after: number): number => changeBetween(around(100, 0.05), around(after, 0.05), 0.95).sureness;
    expect(sureness(100)).toBeCloseTo(0.5, 6);
    expect(sureness(103)).toBeLessThan(sureness(106));
    expect(sureness(200)).toBeCloseTo(1, 6);
  });

  it('says nothing where there is nothing to divide by, and is sure without errors', () => {
    expect(changeBetween(around(0, 0), around(5, 0.1), 0.95)).toMatchObject({ low: 0, high: Number.POSITIVE_INFINITY });
    expect(changeBetween(around(100, 0), around(99, 0), 0.99)).toMatchObject({ low: 0.99, high: 0.99, sureness: 1 });
  });

  it('turns round with its readings', () => {
    const figure = fc.double({ min: 0.1, max: 1e6, noNaN: true });
    const share = fc.double({ min: 0.001, max: 0.5, noNaN: true });
    fc.assert(
      fc.property(figure, share, figure, share, (before, one, after, other) => {
        const there = changeBetween(around(before, one), around(after, other), 0.99);
        const back = changeBetween(around(after, other), around(before, one), 0.99);
        expect(there.low * back.high).toBeCloseTo(1, 6);
        expect(there.sureness).toBeCloseTo(back.sureness, 9);
      }),
    );
  });
});
