import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { seededRandom } from '#base/random.ts';
import { type ChangeFactor, type Changes, toChanges } from '#stats/change.ts';
import type { Interval } from '#stats/interval.ts';

const around = (value: number, share: number): Interval => ({
  value,
  low: value / (1 + share),
  high: value * (1 + share),
});

/** Each figure measured once before and once after; 95 % intervals. */
const changes = (pairs: readonly (readonly [Interval, Interval])[], tail = 0.025): Changes =>
  toChanges(
    pairs.map(([before, after]) => ({ before: [before], after: [after] })),
    { each: tail, together: tail },
  );

const changeBetween = (before: Interval, after: Interval, tail = 0.025): ChangeFactor =>
  changes([[before, after]], tail).each[0] as ChangeFactor;

describe('the change of one figure', () => {
  it('has the ratio, and an interval from both readings', () => {
    const { ratio, low, high, sureness } = changeBetween(around(100, 0.03), around(90, 0.04));
    expect(ratio).toBeCloseTo(0.9, 12);
    // Errors of 3 % and 4 % are one of 5 %, on logarithms.
    const half = Math.hypot(Math.log(1.03), Math.log(1.04));
    expect(low).toBeCloseTo(0.9 * Math.exp(-half), 9);
    expect(high).toBeCloseTo(0.9 * Math.exp(half), 9);
    expect(sureness).toBeGreaterThan(0.99);
  });

  it('is the surer the further apart they are', () => {
    const sureness = (after: number): number => changeBetween(around(100, 0.05), around(after, 0.05)).sureness;
    expect(sureness(100)).toBeCloseTo(0.5, 6);
    expect(sureness(103)).toBeLessThan(sureness(106));
    expect(sureness(300)).toBeCloseTo(1, 5);
  });

  it('says nothing where there is nothing to divide by, and is sure without errors', () => {
    expect(changeBetween(around(0, 0), around(5, 0.1))).toMatchObject({ low: 0, high: Number.POSITIVE_INFINITY });
    expect(changeBetween(around(100, 0.1), around(0, 0))).toMatchObject({ ratio: 0, low: 0, high: 0, sureness: 1 });
    const exact = changeBetween(around(100, 0), around(99, 0));
    expect(exact.sureness).toBe(1);
    expect(exact.low).toBeCloseTo(0.99, 12);
    expect(exact.high).toBeCloseTo(0.99, 12);
  });

  it('turns round with its readings', () => {
    const figure = fc.double({ min: 0.1, max: 1e6, noNaN: true });
    const share = fc.double({ min: 0.001, max: 0.5, noNaN: true });
    fc.assert(
      fc.property(figure, share, figure, share, (before, one, after, other) => {
        const there = changeBetween(around(before, one), around(after, other));
        const back = changeBetween(around(after, other), around(before, one));
        expect(there.low * back.high).toBeCloseTo(1, 6);
        expect(there.sureness).toBeCloseTo(back.sureness, 9);
      }),
    );
  });
});

describe('the changes of several figures', () => {
  const factors = (...after: readonly number[]): Changes =>
    changes(after.map((factor) => [around(100, 0.005), around(100 * factor, 0.005)]));
  const width = ({ low, high }: ChangeFactor): number => Math.log(high / low);

  it('are as unsure as they disagree, each by the others', () => {
    const { each: alike } = factors(1, 1.001, 0.999, 1, 1.001);
    const { each: apart } = factors(1, 1.1, 0.9, 1.05, 0.95);
    expect(width(alike[0] as ChangeFactor)).toBeCloseTo(
      width(changeBetween(around(100, 0.005), around(100, 0.005))),
      9,
    );
    expect(width(apart[0] as ChangeFactor)).toBeGreaterThan(0.3);
    // The one that changed alone is as sure as the others are alike; they are as unsure as it makes
    // them.
    const { each: single } = factors(1, 1.001, 0.9, 0.999, 1);
    expect(single[2]?.high).toBeLessThan(0.95);
    expect(width(single[0] as ChangeFactor)).toBeGreaterThan(0.1);
  });

  it('are sure beyond what a machine drifts by itself, however much they disagree', () => {
    const gains = [3.5, 6, 9, 14].map((factor) => ({
      before: [around(100, 0.02)],
      after: [around(100 * factor, 0.02)],
    }));
    const tails = { each: 0.001, together: 0.001 };
    const { each: unbounded } = toChanges(gains, tails);
    expect(unbounded[0]?.low).toBeLessThan(1);
    const { each, together } = toChanges(gains, tails, 2);
    expect(together?.low).toBeGreaterThan(3);
    for (const [index, { low, high, ratio, sureness }] of each.entries()) {
      expect(low, `${index}`).toBeGreaterThan(ratio / 2.3);
      expect(high, `${index}`).toBeLessThan(ratio * 2.3);
      expect(sureness).toBeGreaterThan(0.999);
    }
    // What a machine may well do by itself is as unsure as before.
    const drifting = [1, 1.5, 0.7, 1.2].map((factor) => ({
      before: [around(100, 0.02)],
      after: [around(100 * factor, 0.02)],
    }));
    for (const { low, high, sureness } of toChanges(drifting, tails, 2).each) {
      expect(low).toBeLessThan(1);
      expect(high).toBeGreaterThan(1);
      expect(sureness).toBeLessThan(0.97);
    }
  });

  it('are together as sure as they agree', () => {
    const { together } = factors(0.9, 0.92, 0.88, 0.91, 0.89, 0.9);
    expect(together?.ratio).toBeCloseTo(0.9, 2);
    expect(together?.high).toBeLessThan(0.93);
    // A machine that was slow for the second half has not changed.
    expect(factors(1, 1, 1, 0.9, 0.9, 0.9).together?.high).toBeGreaterThan(1);
    expect(factors(1, 0.9).together).toBeNull();
    expect(factors(1, 0.9, 0).together).toBeNull();
  });

  it('are bounded by the spread of repeated measurements, which has in it what all figures share', () => {
    const side =
      (...shared: readonly number[]) =>
      (base: number) =>
        shared.map((by) => around(base * by, 0.005));
    const of = (before: (base: number) => Interval[], after: (base: number) => Interval[]): ChangeFactor =>
      toChanges(
        [100, 200, 300, 400].map((base) => ({ before: before(base), after: after(base) })),
        { each: 0.025, together: 0.025 },
      ).together as ChangeFactor;
    // 10 % between two measurements is a change, until it is known that measurements differ by
    // that.
    expect(of(side(1), side(0.9)).high).toBeLessThan(0.95);
    expect(of(side(1, 0.9, 1), side(0.9, 1, 0.9)).high).toBeGreaterThan(1);
    expect(of(side(1, 1.01, 0.99), side(0.9, 0.91, 0.89)).high).toBeLessThan(0.95);
  });

  it('hold what did not change as often as they say, whatever differs from one measurement to the next', () => {
    const random = seededRandom(5);
    const normal = (): number => Math.sqrt(-2 * Math.log(1 - random.float())) * Math.cos(2 * Math.PI * random.float());
    const rounds = 200;
    for (const [own, between] of [
      [0.01, 0],
      [0.01, 0.01],
      [0.01, 0.04],
    ] as const) {
      const measured = (): Interval => around(Math.exp(own * normal() + between * normal()), 2 * own);
      const wrong = { each: 0, together: 0 };
      for (let round = 0; round < rounds; round++) {
        const { each, together } = changes(Array.from({ length: 6 }, () => [measured(), measured()]));
        if ((each[0] as ChangeFactor).high < 1 || (each[0] as ChangeFactor).low > 1) wrong.each++;
        if ((together as ChangeFactor).high < 1 || (together as ChangeFactor).low > 1) wrong.together++;
      }
      // 5 %, and three standard errors of that.
      expect(wrong.each / rounds).toBeLessThan(0.097);
      expect(wrong.together / rounds).toBeLessThan(0.097);
    }
  });
});
