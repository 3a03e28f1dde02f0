import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { type Random, seededRandom } from '#base/random.ts';
import { rateInterval, ratioOfBatches } from '#stats/batch-means.ts';
import { LatencyHistogram } from '#stats/histogram.ts';
import { type Interval, sumOfIntervals } from '#stats/interval.ts';
import { isPrecise, relativeHalfWidth } from '#stats/precision.ts';
import { mixedQuantileInterval, quantileInterval } from '#stats/quantile-interval.ts';
import { ratioInterval, ratioOfRepeats } from '#stats/ratio.ts';

const RUNS = 200;
const exponential = (random: Random): number => -Math.log(1 - random.float());
const normal = (random: Random): number => Math.sqrt(2 * exponential(random)) * Math.cos(2 * Math.PI * random.float());
const covers = (interval: Interval, truth: number): boolean => interval.low <= truth && truth <= interval.high;

/** The share of seeded repetitions whose interval holds the truth. */
function coverage(truth: number, estimate: (random: Random) => Interval): number {
  const hits = Array.from({ length: RUNS }, (_, seed) => covers(estimate(seededRandom(seed + 1)), truth));
  return hits.filter(Boolean).length / RUNS;
}

/** An AR(1) sequence with mean 1: each value leans on the one before it. */
function leaning(random: Random, count: number, correlation: number): number[] {
  let deviation = normal(random);
  return Array.from({ length: count }, () => {
    deviation = correlation * deviation + Math.sqrt(1 - correlation ** 2) * normal(random);
    return 1 + 0.05 * deviation;
  });
}

describe('batch means', () => {
  it('is the total ratio, with Student t on the spread', () => {
    // Mean 10, sample standard deviation 2, three batches in no order: half-width 4.3027 * 2 / √3.
    const interval = rateInterval([12, 8, 10], [1, 1, 1]);
    expect(interval.value).toBe(10);
    expect(interval.high - 10).toBeCloseTo((4.3027 * 2) / Math.sqrt(3), 3);
    expect(10 - interval.low).toBeCloseTo((4.3027 * 2) / Math.sqrt(3), 3);
  });

  it('weighs batches by their length', () => {
    expect(rateInterval([100, 300], [1, 3])).toEqual({ value: 100, low: 100, high: 100 });
  });

  it('widens for neighbours that are alike', () => {
    const values = [8, 9, 10, 11, 12, 11, 10, 9, 8, 9, 10, 11, 12];
    const shuffled = [8, 12, 9, 11, 10, 9, 12, 8, 11, 10, 11, 9, 10];
    const ones = values.map(() => 1);
    expect(ratioOfBatches(values, ones).standardError).toBeGreaterThan(
      1.5 * ratioOfBatches(shuffled, ones).standardError,
    );
  });

  it('covers the truth of independent and of correlated batches', () => {
    const ones = Array.from({ length: 25 }, () => 1);
    expect(coverage(1, (random) => rateInterval(leaning(random, 25, 0), ones))).toBeGreaterThan(0.92);
    expect(coverage(1, (random) => rateInterval(leaning(random, 25, 0.5), ones))).toBeGreaterThan(0.88);
  });

  it('does not claim to know from one batch, nor from none', () => {
    expect(rateInterval([5], [1]).high).toBe(Number.POSITIVE_INFINITY);
    expect(ratioOfBatches([], []).value).toBe(0);
    expect(rateInterval([0, 0, 0], [1, 1, 1])).toEqual({ value: 0, low: 0, high: 0 });
  });
});

describe('quantileInterval', () => {
  const batchesOf = (sample: (batch: number) => number, batches: number, size: number): LatencyHistogram[] =>
    Array.from({ length: batches }, (_, batch) => {
      const histogram = new LatencyHistogram();
      for (let i = 0; i < size; i++) histogram.record(sample(batch) * 1e6);
      return histogram;
    });
  const wholeOf = (batches: readonly LatencyHistogram[]): LatencyHistogram => {
    const whole = new LatencyHistogram();
    for (const batch of batches) whole.merge(batch);
    return whole;
  };

  it('covers the truth for independent latencies', () => {
    for (const p of [0.5, 0.99]) {
      const share = coverage(-Math.log(1 - p) * 1e6, (random) => {
        const batches = batchesOf(() => exponential(random), 10, 100);
        return quantileInterval(batches, wholeOf(batches), p);
      });
      expect(share).toBeGreaterThan(0.92);
    }
  }, 20_000);

  it('widens when whole batches are slower than others', () => {
    const random = seededRandom(3);
    const plain = batchesOf(() => exponential(random), 10, 200);
    const waves = batchesOf((batch) => exponential(random) * (batch < 5 ? 0.5 : 1.5), 10, 200);
    const width = (batches: LatencyHistogram[]): number =>
      relativeHalfWidth(quantileInterval(batches, wholeOf(batches), 0.5));
    expect(width(waves)).toBeGreaterThan(2 * width(plain));
  });

  it('goes beyond the largest latency when requests are too few to bound the quantile', () => {
    const random = seededRandom(5);
    const batches = batchesOf(() => 1 + 0.01 * exponential(random), 2, 10);
    const whole = wholeOf(batches);
    const interval = quantileInterval(batches, whole, 0.9);
    expect(interval.high).toBeCloseTo(2 * whole.maxNs - interval.value, 3);
    expect(interval.high).toBeGreaterThan(whole.maxNs);
  });

  it('is exact for latencies that are all the same', () => {
    const batches = batchesOf(() => 7, 3, 10);
    expect(quantileInterval(batches, wholeOf(batches), 0.99)).toEqual({ value: 7e6, low: 7e6, high: 7e6 });
  });
});

describe('precision', () => {
  it('is the larger side, relative to the value', () => {
    expect(relativeHalfWidth({ value: 100, low: 99, high: 104 })).toBeCloseTo(0.04, 12);
    expect(isPrecise({ value: 100, low: 97, high: 103 }, 0.03)).toBe(true);
    expect(isPrecise({ value: 100, low: 97, high: 103.1 }, 0.03)).toBe(false);
    expect(isPrecise({ value: 0, low: 0, high: 0 }, 0.03)).toBe(false);
  });
});

describe('ratioOfRepeats', () => {
  it.each([
    [2, 2],
    [3, 5],
  ])('holds the truth as often as it says: %i and %i repeats', (before, after) => {
    const drawn = (random: Random, count: number, scale: number) =>
      Array.from({ length: count }, () => scale * Math.exp(0.1 * normal(random)));
    const share = coverage(
      0.6,
      (random) => ratioOfRepeats(drawn(random, before, 5), drawn(random, after, 3)) as Interval,
    );
    expect(share).toBeGreaterThan(0.92);
    expect(share).toBeLessThan(1);
  });

  it('is unknown for single values, and for zeros', () => {
    expect(ratioOfRepeats([1], [2, 3])).toBeNull();
    expect(ratioOfRepeats([1, 2], [0, 3])).toBeNull();
  });
});

describe('ratioInterval', () => {
  it('cancels what both of a pair share', () => {
    const interval = ratioInterval([1, 5, 0.2, 40].map((speed) => ({ numerator: 3 * speed, denominator: 2 * speed })));
    for (const bound of [interval.value, interval.low, interval.high]) expect(bound).toBeCloseTo(1.5, 12);
  });

  it('is the t interval of the logarithms', () => {
    const interval = ratioInterval([
      { numerator: Math.E, denominator: 1 },
      { numerator: Math.E ** 3, denominator: 1 },
    ]);
    expect(Math.log(interval.value)).toBeCloseTo(2, 12);
    expect(Math.log(interval.high)).toBeCloseTo(2 + 12.7062 * (Math.SQRT2 / Math.SQRT2), 3);
  });

  it('turns over when the sides are swapped', () => {
    const positive = fc.double({ min: 0.1, max: 10, noNaN: true });
    const pairs = fc.array(fc.record({ numerator: positive, denominator: positive }), { minLength: 2, maxLength: 8 });
    fc.assert(
      fc.property(pairs, (these) => {
        const there = ratioInterval(these);
        const back = ratioInterval(these.map((pair) => ({ numerator: pair.denominator, denominator: pair.numerator })));
        expect(there.value * back.value).toBeCloseTo(1, 9);
        expect(Math.log(there.low) + Math.log(back.high)).toBeCloseTo(0, 6);
      }),
    );
  });

  it('covers the truth', () => {
    const share = coverage(1.2, (random) =>
      ratioInterval(
        Array.from({ length: 4 }, () => ({
          numerator: 1.2 * Math.exp(0.02 * normal(random)),
          denominator: Math.exp(0.02 * normal(random)),
        })),
      ),
    );
    expect(share).toBeGreaterThan(0.92);
  });

  it('is never narrower than what is known of the pairs themselves', () => {
    const alike = [1.1, 1.1, 1.1, 1.1].map((numerator) => ({ numerator, denominator: 1, relativeHalfWidth: 0.04 }));
    const interval = ratioInterval(alike);
    expect(Math.log(interval.high / 1.1)).toBeCloseTo(0.04 / 2, 9);
    expect(Math.log(1.1 / interval.low)).toBeCloseTo(0.04 / 2, 9);
    const apart = [1, 2, 4].map((numerator) => ({ numerator, denominator: 1 }));
    const known = apart.map((pair) => ({ ...pair, relativeHalfWidth: 0.04 }));
    expect(ratioInterval(known)).toEqual(ratioInterval(apart));
  });

  it('says nothing from one pair and refuses none', () => {
    expect(ratioInterval([{ numerator: 2, denominator: 1 }])).toMatchObject({ low: 0, high: Number.POSITIVE_INFINITY });
    expect(() => ratioInterval([])).toThrow(RangeError);
    expect(() => ratioInterval([{ numerator: 1, denominator: 0 }])).toThrow(RangeError);
  });
});

describe('figures of several streams', () => {
  const P = 0.95;
  /**
   * Latencies of two streams, a slow and a fast one, in batches; the slow one was counted for a
   * third of the time.
   */
  function mixed(random: Random): Interval {
    const batchesOf = (count: number, mean: number) =>
      Array.from({ length: count }, () => {
        const batch = new LatencyHistogram();
        for (let each = 0; each < 60; each++) batch.record(1e6 * mean * exponential(random));
        return batch;
      });
    const streams = [
      { batches: batchesOf(30, 1), share: 0.5, times: 1 },
      { batches: batchesOf(10, 3), share: 0.5, times: 3 },
    ];
    const whole = new LatencyHistogram();
    for (const { batches, times } of streams) for (const batch of batches) whole.mergeTimes(batch, times);
    return mixedQuantileInterval(streams, whole, P);
  }

  it('have a percentile whose interval covers the truth', () => {
    // The root of e^-x/2 + e^(-x/3)/2 = 0.05.
    const truth = rootOf((x) => Math.exp(-x) / 2 + Math.exp(-x / 3) / 2 - (1 - P), 0, 50) * 1e6;
    const rate = coverage(truth, mixed);
    expect(rate).toBeGreaterThan(0.9);
    expect(rate).toBeLessThan(0.999);
  });

  it('are the same as those of one where there is one', () => {
    const random = seededRandom(2);
    const batches = Array.from({ length: 12 }, () => {
      const batch = new LatencyHistogram();
      for (let each = 0; each < 40; each++) batch.record(1e6 * exponential(random));
      return batch;
    });
    const whole = new LatencyHistogram();
    for (const batch of batches) whole.merge(batch);
    expect(mixedQuantileInterval([{ batches, share: 1 }], whole, 0.9)).toEqual(quantileInterval(batches, whole, 0.9));
  });

  it('add up, with their errors in quadrature', () => {
    const sum = sumOfIntervals([
      { value: 10, low: 7, high: 13 },
      { value: 20, low: 16, high: 24 },
    ]);
    expect(sum).toEqual({ value: 30, low: 25, high: 35 });
    expect(sumOfIntervals([{ value: 10, low: 0, high: 20 }])).toEqual({ value: 10, low: 0, high: 20 });
  });
});

function rootOf(of: (x: number) => number, low: number, high: number): number {
  let [from, to] = [low, high];
  for (let step = 0; step < 60; step++) {
    const middle = (from + to) / 2;
    if (of(middle) > 0) from = middle;
    else to = middle;
  }
  return from;
}
