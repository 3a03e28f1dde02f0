import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { NS_PER_S } from '#base/units.ts';
import {
  bursts,
  constantRate,
  intervalList,
  limited,
  type Pacer,
  poissonArrivals,
  ramp,
  replay,
} from '#loadgen/pacers.ts';

/** When the first `most` requests are due, asked by a sender that is late by `lateNs` each time. */
function schedule(pacer: Pacer, most: number, lateNs: (index: number) => number = () => 0): number[] {
  const due: number[] = [];
  let elapsedNs = 0;
  while (due.length < most) {
    const next = pacer(elapsedNs, due.length);
    if (next === 'stop') break;
    due.push(elapsedNs + next.waitNs);
    elapsedNs = Math.max(elapsedNs, elapsedNs + next.waitNs) + lateNs(due.length);
  }
  return due;
}

const gapsOf = (due: readonly number[]): number[] => due.slice(1).map((ns, index) => ns - (due[index] as number));
const sum = (values: readonly number[]): number => values.reduce((total, value) => total + value, 0);
const countWithin = (pacer: Pacer, ns: number): number => schedule(limited(pacer, { durationNs: ns }), 1e6).length;

const rate = fc.double({ min: 0.1, max: 1e5, noNaN: true });
const seed = fc.integer({ min: 0, max: 2 ** 31 - 1 });
const gaps = fc
  .array(fc.integer({ min: 0, max: 1e9 }), { minLength: 1, maxLength: 20 })
  .filter((list) => sum(list) > 0);

describe('every pacer', () => {
  const makers: readonly [string, fc.Arbitrary<() => Pacer>][] = [
    ['constantRate', rate.map((perSecond) => () => constantRate(perSecond))],
    [
      'poissonArrivals',
      fc.tuple(rate, seed).map(
        ([mean, start]) =>
          () =>
            poissonArrivals(mean, start),
      ),
    ],
    ['intervalList', gaps.map((list) => () => intervalList(list))],
    [
      'replay',
      gaps.map(
        (list) => () =>
          replay(
            [...list].sort((a, b) => a - b),
            2,
          ),
      ),
    ],
    [
      'ramp',
      fc.tuple(rate, rate).map(
        ([from, to]) =>
          () =>
            ramp({ fromPerSecond: from, toPerSecond: to, overNs: 2 * NS_PER_S }),
      ),
    ],
    ['bursts', fc.integer({ min: 1, max: 9 }).map((size) => () => bursts(size, 5e6))],
  ];

  it.each(makers)('%s keeps its schedule, which never goes back, however late it is asked', (_, maker) => {
    fc.assert(
      fc.property(maker, fc.array(fc.integer({ min: 0, max: 1e8 }), { minLength: 1 }), (make, lateness) => {
        const onTime = schedule(make(), 50);
        const asked = schedule(make(), 50, (index) => lateness[index % lateness.length] as number);
        expect(asked.length).toBe(onTime.length);
        for (const [index, due] of asked.entries()) {
          expect(Math.abs(due - (onTime[index] as number))).toBeLessThan(1e-3 + 1e-9 * due);
          if (index > 0) expect(due).toBeGreaterThanOrEqual((asked[index - 1] as number) - 1e-3);
        }
      }),
    );
  });

  it('stops at a limit of requests or of time', () => {
    expect(schedule(limited(constantRate(10), { requests: 7 }), 100)).toHaveLength(7);
    expect(schedule(limited(constantRate(10), { durationNs: NS_PER_S }), 100)).toHaveLength(10);
    expect(schedule(limited(constantRate(10), { requests: 3, durationNs: NS_PER_S }), 100)).toHaveLength(3);
    expect(schedule(limited(replay([0, 1], 1), { requests: 9 }), 100)).toHaveLength(2);
  });
});

describe('constantRate', () => {
  it('is exact over any time: no drift', () => {
    expect(schedule(constantRate(3), 3_000_001).at(-1)).toBe(1e6 * NS_PER_S);
    expect(countWithin(constantRate(4096), 10 * NS_PER_S)).toBe(40960);
  });
});

describe('poissonArrivals', () => {
  it('is the same for the same seed and another for another', () => {
    const of = (start: number): number[] => schedule(poissonArrivals(100, start), 20);
    expect(of(3)).toEqual(of(3));
    expect(of(3)).not.toEqual(of(4));
  });

  it.each([1, 2, 3])('has exponential gaps of the mean rate: seed %i', (start) => {
    const n = 100_000;
    const between = gapsOf(schedule(poissonArrivals(250, start), n + 1));
    const mean = sum(between) / n;
    // The mean of n exponentials varies by 1/√n; four of those are once in 16,000.
    expect(Math.abs(mean / (NS_PER_S / 250) - 1)).toBeLessThan(4 / Math.sqrt(n));
    const variance = sum(between.map((gap) => (gap - mean) ** 2)) / n;
    expect(Math.sqrt(variance) / mean).toBeCloseTo(1, 1);
    const beyondMean = between.filter((gap) => gap > mean).length / n;
    expect(beyondMean).toBeCloseTo(Math.exp(-1), 2);
  });

  it('gives counts that vary as much as their mean', () => {
    const due = schedule(poissonArrivals(1000, 9), 200_000);
    const counts = new Array<number>(199).fill(0);
    for (const ns of due) {
      const second = Math.floor(ns / NS_PER_S);
      if (second < counts.length) counts[second] = (counts[second] as number) + 1;
    }
    const mean = sum(counts) / counts.length;
    const variance = sum(counts.map((count) => (count - mean) ** 2)) / (counts.length - 1);
    expect(variance / mean).toBeGreaterThan(0.6);
    expect(variance / mean).toBeLessThan(1.5);
  });
});

describe('intervalList', () => {
  it('goes through its gaps over and over', () => {
    fc.assert(
      fc.property(gaps, (list) => {
        const due = schedule(intervalList(list), 3 * list.length);
        expect(due[0]).toBe(list[0]);
        expect(gapsOf(due)).toEqual([...list, ...list, ...list].slice(1));
      }),
    );
  });

  it.each([[[]], [[0, 0]], [[1, -1]], [[1, Number.NaN]]])('refuses %j', (list) => {
    expect(() => intervalList(list)).toThrow(expect.objectContaining({ code: 'INPUT_INVALID' }));
  });
});

describe('replay', () => {
  it('sends every arrival once, at the recorded distances by the speed', () => {
    fc.assert(
      fc.property(gaps, fc.constantFrom(0.5, 1, 4), (list, speed) => {
        let ns = 5e12;
        const arrivals = list.map((gap) => {
          ns += gap;
          return ns;
        });
        const due = schedule(replay(arrivals, speed), 1000);
        expect(due).toEqual(arrivals.map((arrival) => (arrival - (arrivals[0] as number)) / speed));
      }),
    );
  });

  it('refuses a trace that is empty or goes back', () => {
    expect(() => replay([], 1)).toThrow(expect.objectContaining({ code: 'INPUT_INVALID' }));
    expect(() => replay([1, 3, 2], 1)).toThrow(/arrival 3/);
  });
});

describe('ramp', () => {
  it('sends the mean of both rates while it lasts, and the last rate afterwards', () => {
    fc.assert(
      fc.property(fc.integer({ min: 0, max: 500 }), fc.integer({ min: 1, max: 500 }), (from, to) => {
        const make = (): Pacer => ramp({ fromPerSecond: from, toPerSecond: to, overNs: 4 * NS_PER_S });
        const during = countWithin(make(), 4 * NS_PER_S);
        expect(Math.abs(during - 2 * (from + to))).toBeLessThanOrEqual(1);
        expect(Math.abs(countWithin(make(), 14 * NS_PER_S) - 2 * (from + to) - 10 * to)).toBeLessThanOrEqual(1);
      }),
      { numRuns: 30 },
    );
  });

  it('rises as a square: a quarter of its requests in its first half, from 0', () => {
    const make = (): Pacer => ramp({ fromPerSecond: 0, toPerSecond: 100, overNs: 10 * NS_PER_S });
    expect(countWithin(make(), 5 * NS_PER_S)).toBe(125);
    expect(countWithin(make(), 10 * NS_PER_S)).toBe(500);
  });

  it('stops at the end of a ramp down to nothing', () => {
    expect(schedule(ramp({ fromPerSecond: 100, toPerSecond: 0, overNs: 2 * NS_PER_S }), 1e6)).toHaveLength(100);
  });
});

describe('bursts', () => {
  it('sends so many at once, once a period', () => {
    expect(schedule(bursts(3, 10e6), 7)).toEqual([0, 0, 0, 10e6, 10e6, 10e6, 20e6]);
  });
});
