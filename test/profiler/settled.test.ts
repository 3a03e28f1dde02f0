import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { seededRandom, standardNormal } from '#base/random.ts';
import { isSettled, listSlices, SETTLED_SLICES, type Slice } from '#profiler/windows/settled.ts';
import { LatencyHistogram } from '#stats/histogram.ts';

const drawn = (rates: readonly number[], tails: readonly number[] = rates.map(() => 5e6)): Slice[] =>
  rates.map((rate, index) => ({ rate, tailNs: tails[index] as number }));

describe('a server after a load', () => {
  it('has not settled before enough was seen of it, nor while it serves nothing', () => {
    expect(isSettled(drawn(Array(SETTLED_SLICES - 1).fill(1000)))).toBe(false);
    expect(isSettled(drawn([1000, 1000, 0, 1000, 1000, 1000]))).toBe(false);
    expect(isSettled(drawn(Array(SETTLED_SLICES).fill(1000)))).toBe(true);
  });

  it('has not while its rate rises, or its tail falls', () => {
    expect(isSettled(drawn([800, 830, 870, 920, 960, 1000]))).toBe(false);
    expect(isSettled(drawn(Array(6).fill(1000), [30e6, 22e6, 18e6, 12e6, 10e6, 9e6]))).toBe(false);
  });

  it('has where it gets slower, or differs by nothing that matters: a machine may do that at any time', () => {
    expect(isSettled(drawn([1000, 960, 920, 870, 830, 800]))).toBe(true);
    expect(isSettled(drawn([1000, 1005, 1001, 1010, 1012, 1011]))).toBe(true);
  });

  it('looks at the last slices alone', () => {
    expect(isSettled(drawn([100, 300, 600, ...Array(SETTLED_SLICES).fill(1000)]))).toBe(true);
  });

  it('is found in nine of ten looks at a steady server, and seldom in a rising one, whatever the noise', () => {
    const share = (trend: number, noise: number): number => {
      const random = seededRandom(7);
      const looks = Array.from({ length: 400 }, () => {
        const rates = Array.from(
          { length: 6 },
          (_, at) => 1000 * Math.exp(trend * at + noise * standardNormal(random)),
        );
        return isSettled(drawn(rates));
      });
      return looks.filter(Boolean).length / looks.length;
    };
    for (const noise of [0.01, 0.05, 0.2]) expect(share(0, noise)).toBeGreaterThan(0.87);
    expect(share(0.05, 0.02)).toBeLessThan(0.05);
    expect(share(0.1, 0.05)).toBeLessThan(0.1);
  });

  it('does not depend on the unit of its figures', () => {
    fc.assert(
      fc.property(
        fc.array(fc.double({ min: 0.5, max: 2, noNaN: true }), { minLength: 6, maxLength: 9 }),
        fc.double({ min: 0.01, max: 1e4, noNaN: true }),
        (rates, unit) => {
          expect(isSettled(drawn(rates.map((rate) => rate * unit)))).toBe(isSettled(drawn(rates)));
        },
      ),
    );
  });

  it('is seen in six slices of the batches, the last ones where they do not divide', () => {
    const takeBatch = (succeeded: number, index: number) => {
      const latencies = new LatencyHistogram();
      latencies.record(1e6);
      return {
        startNs: index * 1e8,
        endNs: (index + 1) * 1e8,
        succeeded,
        latencies,
        failed: 0,
        responses: 0,
        sequences: 0,
      };
    };
    const batches = Array.from({ length: 15 }, (_, index) => takeBatch(index, index));
    expect(listSlices(batches).map(({ rate }) => rate)).toEqual([35, 55, 75, 95, 115, 135]);
    expect(listSlices(batches.slice(0, 7))).toHaveLength(6);
    expect(listSlices(batches.slice(0, 5))).toHaveLength(5);
  });
});
