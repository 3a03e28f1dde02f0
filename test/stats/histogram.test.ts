import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { LatencyHistogram } from '#stats/histogram.ts';

const histogramOf = (values: readonly number[]): LatencyHistogram => {
  const histogram = new LatencyHistogram();
  for (const value of values) histogram.record(value);
  return histogram;
};

const exactQuantile = (values: readonly number[], p: number): number => {
  const sorted = [...values].sort((a, b) => a - b);
  return sorted[Math.max(Math.ceil(p * sorted.length - 1e-9), 1) - 1] as number;
};

// From nanoseconds to ten minutes, evenly over the orders of magnitude.
const latency = fc.double({ min: 0, max: Math.log(6e11), noNaN: true }).map((log) => Math.round(Math.exp(log)));
const latencies = fc.array(latency, { minLength: 1, maxLength: 200 });

describe('LatencyHistogram', () => {
  it('gives every quantile within 0.1 % of the exact one', () => {
    fc.assert(
      fc.property(latencies, fc.constantFrom(0.01, 0.5, 0.9, 0.99, 0.999, 1), (values, p) => {
        const exact = exactQuantile(values, p);
        expect(Math.abs(histogramOf(values).quantileNs(p) - exact)).toBeLessThanOrEqual(exact * 0.001);
      }),
      { numRuns: 60 },
    );
  });

  it('gives the latency of each rank, whatever its share of all is rounded to', () => {
    fc.assert(
      fc.property(latencies, (values) => {
        const histogram = histogramOf(values);
        const sorted = [...values].sort((a, b) => a - b);
        for (const [index, exact] of sorted.entries()) {
          const found = histogram.quantileNs((index + 1) / sorted.length);
          expect(Math.abs(found - exact)).toBeLessThanOrEqual(exact * 0.001);
        }
      }),
      { numRuns: 60 },
    );
  });

  it('keeps count, mean, smallest and largest exact', () => {
    fc.assert(
      fc.property(latencies, (values) => {
        const histogram = histogramOf(values);
        expect(histogram.count).toBe(values.length);
        expect(histogram.meanNs).toBeCloseTo(values.reduce((a, b) => a + b) / values.length, 3);
        expect([histogram.minNs, histogram.maxNs]).toEqual([Math.min(...values), Math.max(...values)]);
      }),
      { numRuns: 60 },
    );
  });

  it('is the same whether requests are recorded in one or merged from two', () => {
    fc.assert(
      fc.property(latencies, latencies, (first, second) => {
        const merged = histogramOf(first);
        merged.merge(histogramOf(second));
        const one = histogramOf([...first, ...second]);
        expect(merged.count).toBe(one.count);
        expect(merged.meanNs).toBeCloseTo(one.meanNs, 3);
        for (const p of [0, 0.25, 0.5, 0.99, 1]) expect(merged.quantileNs(p)).toBe(one.quantileNs(p));
      }),
      { numRuns: 40 },
    );
  });

  it('comes out of its packed form as it went in, in the space of its filled buckets', () => {
    fc.assert(
      fc.property(fc.array(latency, { maxLength: 200 }), latencies, (values, others) => {
        const histogram = histogramOf(values);
        const unpacked = LatencyHistogram.unpack(structuredClone(histogram.pack()));
        for (const value of others) expect(unpacked.countAbove(value)).toBe(histogram.countAbove(value));
        expect(unpacked.count).toBe(histogram.count);
        expect(unpacked.pack()).toEqual(histogram.pack());
        for (const each of [histogram, unpacked]) each.merge(histogramOf(others));
        expect([unpacked.count, unpacked.meanNs, unpacked.minNs, unpacked.maxNs]).toEqual([
          histogram.count,
          histogram.meanNs,
          histogram.minNs,
          histogram.maxNs,
        ]);
        for (const p of [0, 0.5, 0.99, 1]) expect(unpacked.quantileNs(p)).toBe(histogram.quantileNs(p));
        for (const value of others) expect(unpacked.countAbove(value)).toBe(histogram.countAbove(value));
      }),
      { numRuns: 40 },
    );
    const emptied = histogramOf([1e6, 5e9]);
    emptied.reset();
    expect([emptied.count, emptied.meanNs, emptied.minNs, emptied.quantileNs(0.5)]).toEqual([0, 0, 0, 0]);
    emptied.record(3e6);
    expect([emptied.count, emptied.minNs, emptied.maxNs]).toEqual([1, 3e6, 3e6]);
    expect(histogramOf([1e6, 2e6, 1e9]).pack().cells).toHaveLength(6);
    expect(LatencyHistogram.unpack(histogramOf([1e13]).pack()).quantileNs(1)).toBe(1e13);
  });

  it('counts what is above a value', () => {
    const histogram = histogramOf([10, 20, 30, 40, 5e6]);
    expect([5, 10, 25, 40, 5e6, 6e6].map((value) => histogram.countAbove(value))).toEqual([5, 4, 3, 1, 0, 0]);
  });

  it('answers when empty and takes latencies beyond its range', () => {
    const histogram = new LatencyHistogram();
    expect([histogram.quantileNs(0.99), histogram.meanNs, histogram.minNs, histogram.maxNs]).toEqual([0, 0, 0, 0]);
    histogram.record(1e13);
    expect(histogram.quantileNs(0.99)).toBe(1e13);
  });

  it('adds another’s values as if there had been more of them', () => {
    fc.assert(
      fc.property(latencies, fc.double({ min: 1, max: 9, noNaN: true }), (values, times) => {
        const all = histogramOf([5e6]);
        all.mergeTimes(histogramOf(values), times);
        expect(Math.abs(all.count - 1 - values.length * times)).toBeLessThanOrEqual(0.5 + 1e-6);
        const median = exactQuantile(values, 0.5);
        const exactly = histogramOf(values);
        const above = all.countAbove(median) - (5e6 > median ? 1 : 0);
        expect(Math.abs(above - exactly.countAbove(median) * times)).toBeLessThanOrEqual(1.5);
      }),
      { numRuns: 60 },
    );
    const none = new LatencyHistogram();
    none.mergeTimes(new LatencyHistogram(), 3);
    expect([none.count, none.maxNs]).toEqual([0, 0]);
  });
});
