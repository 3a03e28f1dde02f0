import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { Batch } from '#loadgen/recorder.ts';
import { TokenCount } from '#loadgen/token-tally.ts';
import { tailShiftNs } from '#profiler/windows/tail-shift.ts';
import { gapShiftNs } from '#profiler/windows/void-windows.ts';
import { LatencyHistogram } from '#stats/histogram.ts';

const MS = 1e6;

function histogramOf(latenciesNs: readonly number[]): LatencyHistogram {
  const histogram = new LatencyHistogram();
  for (const ns of latenciesNs) histogram.record(ns);
  return histogram;
}

const of = (latenciesMs: readonly number[]): LatencyHistogram => histogramOf(latenciesMs.map((ms) => ms * MS));
const oneEach = { percentile: 0.99, countHits: () => 1, pausesPerRequest: 1 };
const times = (count: number, ms: number): number[] => Array.from({ length: count }, () => ms);

describe('how far pauses can have moved a percentile', () => {
  it('is nothing without pauses, or without requests', () => {
    expect(tailShiftNs([], of([1, 2, 30]), oneEach)).toBe(0);
    expect(tailShiftNs([5 * MS], of([]), oneEach)).toBe(0);
  });

  it('is nothing where those that they hit were in the tail anyhow, or as fast as the others', () => {
    const latencies = of([...times(1000, 3), ...times(40, 20)]);
    expect(tailShiftNs([8 * MS], latencies, oneEach) / MS).toBeLessThan(0.05);
    expect(tailShiftNs([8 * MS, 8 * MS], of(times(400, 3)), oneEach) / MS).toBeLessThan(0.01);
  });

  it('is down to the body where they can have made the whole tail', () => {
    const latencies = of([...times(196, 3), ...times(4, 11)]);
    expect(tailShiftNs([9 * MS, 9 * MS, 9 * MS], latencies, oneEach) / MS).toBeCloseTo(8, 1);
    expect(tailShiftNs([9 * MS], latencies, oneEach)).toBe(0);
  });

  it('is no more than the longest pause, as often as one request can meet one', () => {
    const latencies = of([...times(100, 1), ...times(100, 50)]);
    const many = times(300, MS);
    expect(tailShiftNs(many, latencies, oneEach)).toBe(MS);
    expect(tailShiftNs(many, latencies, { ...oneEach, pausesPerRequest: 2 })).toBe(2 * MS);
  });

  it('lets many short pauses count by their length and a few long ones by those they hit', () => {
    const latencies = of([...times(970, 3), ...times(25, 3.4), ...times(5, 30)]);
    const pauses = [...times(200, 0.2 * MS), ...times(4, 27 * MS)];
    expect(tailShiftNs(pauses, latencies, oneEach) / MS).toBeCloseTo(0.2, 1);
  });

  it('is never less than what pauses did, and never more than the percentile', () => {
    const latency = fc.integer({ min: 100_000, max: 20 * MS });
    const hit = fc.record({
      lengthNs: fc.integer({ min: 1000, max: 30 * MS }),
      requests: fc.integer({ min: 0, max: 9 }),
    });
    fc.assert(
      fc.property(
        fc.array(latency, { minLength: 1, maxLength: 300 }),
        fc.array(hit, { maxLength: 12 }),
        fc.constantFrom(0.5, 0.9, 0.95, 0.99, 0.999),
        fc.integer(),
        (undelayed, pauses, percentile, seed) => {
          const observed = [...undelayed];
          // Each pause meets requests that no other has met, and delays each by a part of its
          // length.
          let at = Math.abs(seed);
          const met = new Set<number>();
          for (const { lengthNs, requests } of pauses) {
            for (let left = requests; left > 0; left--) {
              at = (at * 16_807 + 11) % 2_147_483_647;
              const index = at % undelayed.length;
              if (met.has(index)) continue;
              met.add(index);
              observed[index] = (undelayed[index] as number) + lengthNs * ((at % 101) / 100);
            }
          }
          const seen = histogramOf(observed);
          const countHits = (lengthNs: number): number =>
            Math.max(...pauses.filter((pause) => pause.lengthNs === lengthNs).map(({ requests }) => requests));
          const lengths = pauses.map(({ lengthNs }) => lengthNs);
          const shift = tailShiftNs(lengths, seen, { percentile, countHits, pausesPerRequest: 1 });
          const truth = histogramOf(undelayed).quantileNs(percentile);
          // Each histogram is exact to 0.1 % of its value.
          const resolutionNs = (truth + seen.quantileNs(percentile)) * 0.001 + 2;
          expect(seen.quantileNs(percentile) - shift).toBeLessThanOrEqual(truth + resolutionNs);
          expect(shift).toBeGreaterThanOrEqual(0);
          expect(shift).toBeLessThanOrEqual(seen.quantileNs(percentile));
        },
      ),
      { numRuns: 300 },
    );
  });
});

describe('how far pauses can have moved the gaps of streamed replies', () => {
  /**
   * Ten replies of a hundred gaps in ten seconds, of which `slow` gaps took 60 ms and the others
   * 10.
   */
  const takeBatch = (slow: number, pausesMs: readonly number[] | null): Batch => {
    const tokens = new TokenCount();
    for (let reply = 0; reply < 10; reply++) {
      const gapsNs = Array.from({ length: 100 }, (_, gap) => (reply * 100 + gap < slow ? 60 * MS : 10 * MS));
      const told = { firstNs: MS, gapsNs, inputTokens: 1, outputTokens: 101, countedBy: 'usage' as const };
      tokens.add(told, 1e9, undefined, undefined);
    }
    const pauses = pausesMs?.map((ms) => ({ startNs: 0, lengthNs: ms * MS, gcNs: 0 }));
    return {
      startNs: 0,
      endNs: 1e10,
      succeeded: 10,
      failed: 0,
      responses: 0,
      sequences: 0,
      tokens,
      latencies: of([1000]),
      ...(pauses && { heldUp: { pauses, runQueueNs: null, threads: 1 } }),
    };
  };
  const shiftMs = (batch: Batch, value = 4): number | null => {
    const ns = gapShiftNs([batch], { level: { mode: 'concurrency', value }, percentile: 99 });
    return ns === null ? null : ns / MS;
  };

  it('is no more than the pause, of as many gaps as replies are under way', () => {
    expect(shiftMs(takeBatch(12, [50]))).toBeCloseTo(50, 0);
    expect(shiftMs(takeBatch(11, [5]))).toBeCloseTo(5, 0);
    // Four of sixteen slow gaps can have been ours, and of the others enough are left.
    expect(shiftMs(takeBatch(16, [50]))).toBe(0);
    expect(shiftMs(takeBatch(16, [50]), 8)).toBeCloseTo(50, 0);
    expect(shiftMs(takeBatch(12, []))).toBe(0);
  });

  it('is not known where nobody watched, or nothing was streamed', () => {
    expect(shiftMs(takeBatch(12, null))).toBeNull();
    const { tokens: _, ...plain } = takeBatch(12, [5]);
    expect(shiftMs(plain)).toBeNull();
  });
});
