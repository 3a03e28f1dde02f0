import { describe, expect, it } from 'vitest';
import { capacityPosterior } from '#capacity/posterior/posterior.ts';
import type { RateReading } from '#capacity/reading.ts';
import { replicasNeeded } from '#stats/replicas.ts';

const reading = (perSecond: number, bad: number): RateReading => ({
  offeredPerSecond: perSecond,
  perSecond,
  requests: 20_000,
  bad: { mean: bad, sd: 0.002 },
  served: { mean: 1, sd: 0.002 },
  isUnsustained: false,
  arrivals: null,
  logSpeed: null,
});

const onDevice = {
  allowed: 0.01,
  budgetSeconds: 0.05,
  low: 1,
  high: 1000,
  likely: 100,
  mostServed: 130,
  idle: 0.2,
  isWorkload: false,
  followsHost: false,
};

const posterior = capacityPosterior(
  [reading(90, 0), reading(96, 0.003), reading(100, 0.01), reading(104, 0.03), reading(110, 0.1), reading(100, 0.011)],
  onDevice,
);

describe('replicas for a rate', () => {
  const rule = { perSecond: 2000, headroom: 0, chance: 0.95, spread: 0 };

  it('are the fewest whose part of the rate one of them surely keeps', () => {
    const { value, low } = posterior.interval;
    expect(value).toBeGreaterThan(95);
    expect(value).toBeLessThan(105);
    const { replicas, table } = replicasNeeded(posterior, rule);
    expect(replicas).toBe(Math.ceil(2000 / posterior.quantile(0.05)));
    expect(replicas).toBeLessThanOrEqual(Math.ceil(2000 / low));
    const row = table.find((each) => each.replicas === replicas);
    expect(row?.chance).toBeGreaterThanOrEqual(0.95);
    expect(table.find((each) => each.replicas === (replicas ?? 0) - 1)?.chance).toBeLessThan(0.95);
    expect(table.map(({ chance }) => chance)).toEqual(table.map(({ chance }) => chance).sort((a, b) => a - b));
  });

  it('are more where each keeps a part free, where they differ, and for a higher chance', () => {
    const plain = replicasNeeded(posterior, rule).replicas ?? 0;
    expect(replicasNeeded(posterior, { ...rule, headroom: 0.2 }).replicas).toBeCloseTo(plain / 0.8, -1);
    expect(replicasNeeded(posterior, { ...rule, spread: 0.1 }).replicas).toBeGreaterThan(plain);
    expect(replicasNeeded(posterior, { ...rule, chance: 0.999 }).replicas).toBeGreaterThanOrEqual(plain);
    expect(replicasNeeded(posterior, { ...rule, perSecond: 20 }).replicas).toBe(1);
  });
});

describe('the posterior of the capacity', () => {
  const prior = { ...onDevice, followsHost: true };

  it('follows the host where the server does', () => {
    const at = (logSpeed: number, rate: number, bad: number): RateReading => ({ ...reading(rate, bad), logSpeed });
    // Half as fast for the second half: what was kept at 100 is kept at 50.
    const half = Math.log(0.5);
    const readings = [
      at(0, 95, 0.004),
      at(0, 100, 0.01),
      at(0, 105, 0.03),
      at(half, 48, 0.006),
      at(half, 50, 0.012),
      at(half, 52, 0.025),
    ];
    const { value, low, high } = capacityPosterior(readings, prior).interval;
    expect(value).toBeGreaterThan(88);
    expect(value).toBeLessThan(110);
    expect(high / low).toBeLessThan(1.3);
    // Without the host's speed the halves contradict each other.
    const { chance } = capacityPosterior(readings.slice(3), { ...prior, followsHost: false });
    expect(chance(80)).toBeLessThan(0.3);
    expect(capacityPosterior(readings.slice(3), prior).chance(80)).toBeGreaterThan(0.8);
  });

  it('is hardly moved by one stall at a low rate', () => {
    const readings = [90, 96, 100, 104].map((rate, index) => reading(rate, [0, 0.003, 0.01, 0.03][index] as number));
    const before = capacityPosterior(readings, prior).interval;
    const stalled = { ...reading(60, 0.4), served: { mean: 0.8, sd: 0.02 }, isUnsustained: true };
    const after = capacityPosterior([...readings, stalled], prior).interval;
    expect(Math.abs(Math.log(after.value / before.value))).toBeLessThan(0.04);
  });
});
