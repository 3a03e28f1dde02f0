import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { ClockOffset } from '#loadgen/agents/clock-offset.ts';

/**
 * Probes of a clock that is ahead by `aheadNs` and drifts, each with its own way there and back.
 */
const network = fc.record({
  aheadNs: fc.double({ min: -1e15, max: 1e15, noNaN: true }),
  /** Within what the estimate allows for. */
  driftPpm: fc.double({ min: -100, max: 100, noNaN: true }),
  everyNs: fc.constantFrom(1e6, 250e6),
  ways: fc.array(fc.tuple(fc.integer({ min: 1e4, max: 5e7 }), fc.integer({ min: 1e4, max: 5e7 })), {
    minLength: 1,
    maxLength: 100,
  }),
});

describe('the offset of another clock', () => {
  it('is within its uncertainty of the truth, however uneven the ways there and back are', () => {
    fc.assert(
      fc.property(network, fc.integer({ min: 0, max: 5e9 }), ({ aheadNs, driftPpm, everyNs, ways }, laterNs) => {
        const trueAheadNs = (nowNs: number): number => aheadNs + driftPpm * 1e-6 * nowNs;
        const clock = new ClockOffset();
        let nowNs = 0;
        for (const [thereNs, backNs] of ways) {
          const [sentNs, answeredNs] = [nowNs, nowNs + thereNs];
          nowNs = answeredNs + backNs;
          clock.add({ sentNs, backNs: nowNs, otherNs: answeredNs + trueAheadNs(answeredNs) });
          nowNs += everyNs;
        }
        nowNs += laterNs;
        const { offsetNs, uncertaintyNs } = clock.at(nowNs);
        // Numbers of this size are good to an eighth of a nanosecond, and the clock drifts during a
        // probe too.
        expect(Math.abs(offsetNs - trueAheadNs(nowNs))).toBeLessThanOrEqual(uncertaintyNs + 100e-6 * 1e8 + 1);
        const fastestNs = Math.min(...ways.slice(-64).map(([there, back]) => there + back));
        expect(uncertaintyNs).toBeGreaterThanOrEqual(fastestNs / 2);
      }),
      { numRuns: 300, seed: 1 },
    );
  });

  it('goes by the fastest probe, and minds its age', () => {
    const clock = new ClockOffset();
    expect(clock.at(0).uncertaintyNs).toBe(Number.POSITIVE_INFINITY);
    clock.add({ sentNs: 0, backNs: 2e6, otherNs: 51e6 });
    clock.add({ sentNs: 10e6, backNs: 30e6, otherNs: 75e6 });
    expect(clock.at(30e6)).toEqual({ offsetNs: 50e6, uncertaintyNs: 1e6 + 100e-6 * 28e6 });
    expect(clock.slowestNs).toBe(20e6);
    // After 100 s two clocks may be 10 ms apart: the newer probe is the better one.
    expect(clock.at(100e9).uncertaintyNs).toBeCloseTo(1e6 + 100e-6 * (100e9 - 2e6), 0);
  });
});
