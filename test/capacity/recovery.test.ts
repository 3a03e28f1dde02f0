import { describe, expect, it } from 'vitest';
import type { CapacityPrior } from '#capacity/posterior/prior.ts';
import { baseRateFor, recoveredAfter, recoveryPosterior } from '#capacity/posterior/recovery.ts';

/** Windows of one second. */
const windowsOf = (latenciesMs: readonly number[]) =>
  latenciesMs.map((percentileMs, index) => ({
    endSeconds: index + 1,
    perSecond: 100,
    meanMs: percentileMs / 2,
    percentileMs,
  }));

describe('the moment of recovery', () => {
  it('is the end of the last late window after the burst', () => {
    expect(recoveredAfter(windowsOf([10, 90, 90, 90, 90, 10, 10, 10]), 3, 50)).toBe(2);
    expect(recoveredAfter(windowsOf([10, 90, 90, 10, 10, 10]), 3, 50)).toBe(0);
  });

  it('is not a single late window long after it, and is unknown if the last ones are late', () => {
    expect(recoveredAfter(windowsOf([10, 90, 90, 90, 10, 10, 10, 90, 10]), 3, 50)).toBe(1);
    expect(recoveredAfter(windowsOf([10, 90, 90, 90, 90, 90]), 3, 50)).toBeNull();
  });
});

describe('the base rate that is recovered from in time', () => {
  const burst = { factor: 2, seconds: 10 };
  const asked = { recoverSeconds: 5, budgetMs: 50 };
  const prior: CapacityPrior = {
    low: 80,
    high: 1300,
    allowed: 0.01,
    budgetSeconds: null,
    likely: 400,
    mostServed: null,
    isWorkload: false,
    idle: null,
    followsHost: false,
  };
  /**
   * A fluid on a server of 1,000 requests/s: the backlog of the burst is served by what is left of
   * the rate.
   */
  const play = (perSecond: number) => {
    const tookSeconds = ((2 * perSecond - 1000) * 10) / (1000 - perSecond);
    return {
      perSecond,
      logSpeed: 0,
      windows: windowsOf(Array.from({ length: 18 }, (_, at) => (at + 0.5 < 10 + tookSeconds ? 90 : 10))),
    };
  };

  it('follows from how long one burst took', () => {
    // (2 b − 1000) 10 = (1000 − b) 5.
    expect(baseRateFor(560, burst, 2.7273, 5)).toBeCloseTo(600, 0);
    const one = recoveryPosterior([play(560)], prior, burst, asked).interval;
    expect(one.low).toBeLessThan(600);
    expect(one.high).toBeGreaterThan(600);
    const { low, value, high } = recoveryPosterior([play(560), play(590), play(610)], prior, burst, asked).interval;
    expect(value).toBeGreaterThan(580);
    expect(value).toBeLessThan(620);
    expect((high - low) / value).toBeLessThan(0.1);
  });

  it('is below a burst that was not recovered from, and above one that was never late', () => {
    expect(recoveryPosterior([play(900)], prior, burst, asked).interval.high).toBeLessThan(900);
    expect(recoveryPosterior([play(450)], prior, burst, asked).interval.value).toBeGreaterThan(450);
  });

  it('is that of the usual speed', () => {
    const { value } = recoveryPosterior([{ ...play(600), logSpeed: Math.log(2) }], prior, burst, asked).interval;
    expect(value).toBeGreaterThan(250);
    expect(value).toBeLessThan(350);
  });
});
