import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { chanceToHold, replicasFor, usableRate } from '#stats/replicas.ts';

const capacity = { value: 1000, low: 902, high: 1098 };

describe('replicas for a rate', () => {
  it('count a server with what it serves with the chance, less the headroom', () => {
    // A standard deviation of 50: 95 % of a normal distribution is above the mean less 1.64 of
    // them.
    expect(usableRate(capacity, { headroom: 0, chance: 0.5 })).toBeCloseTo(1000, 6);
    expect(usableRate(capacity, { headroom: 0, chance: 0.95 })).toBeCloseTo(1000 - 1.645 * 50, 0);
    expect(usableRate(capacity, { headroom: 0.2, chance: 0.95 })).toBeCloseTo(0.8 * (1000 - 1.645 * 50), 0);
    expect(usableRate({ value: 10, low: 0, high: 1000 }, { headroom: 0, chance: 0.95 })).toBe(0);
  });

  it('are whole, one at least, and none that rounding adds', () => {
    expect([1, 999, 1000, 1001, 3000 * (1 + 1e-12)].map((rate) => replicasFor(rate, 1000))).toEqual([1, 1, 1, 2, 3]);
    expect(replicasFor(1, 0)).toBe(Number.POSITIVE_INFINITY);
  });

  it('hold the rate with at least the chance that they were counted by, and one fewer does not', () => {
    const chance = fc.double({ min: 0.5, max: 0.999, noNaN: true });
    const rate = fc.double({ min: 1, max: 1e5, noNaN: true });
    const headroom = fc.double({ min: 0, max: 0.9, noNaN: true });
    fc.assert(
      fc.property(chance, rate, headroom, (wanted, asked, free) => {
        const many = replicasFor(asked, usableRate(capacity, { headroom: free, chance: wanted }));
        // The quantile is an approximation to three digits.
        expect(chanceToHold(many, asked, capacity, free)).toBeGreaterThan(wanted - 2e-3);
        if (many > 1) expect(chanceToHold(many - 1, asked, capacity, free)).toBeLessThan(wanted + 2e-3);
      }),
    );
  });

  it('of an exact capacity hold the rate or do not', () => {
    const exact = { value: 100, low: 100, high: 100 };
    expect([chanceToHold(2, 200, exact, 0), chanceToHold(2, 201, exact, 0)]).toEqual([1, 0]);
  });
});
