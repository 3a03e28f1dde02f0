import { describe, expect, it } from 'vitest';
import { NS_PER_S } from '#base/units.ts';
import type { ArrivalPlan } from '#workload/arrival-plan.ts';
import { computeRates, summarizeFigures } from '#workload/figures.ts';
import { createPlan } from '#workload/plan/plan-of.ts';
import { workloadOf } from './workloads.ts';

const planAt = (seconds: readonly number[], durationS: number, classOf = seconds.map(() => 0)): ArrivalPlan => ({
  arrivalsNs: Float64Array.from(seconds, (second) => second * NS_PER_S),
  classOf: Uint16Array.from(classOf),
  classes: ['a', 'b'],
  durationNs: durationS * NS_PER_S,
});

describe('the figures of a plan', () => {
  it('have the highest rate of any window, wherever it begins', () => {
    // Ten requests in 0.9 s across the edge of a second, in half a minute of one request every
    // three seconds.
    const burst = Array.from({ length: 10 }, (_, index) => 9.6 + index * 0.1);
    const rest = Array.from({ length: 10 }, (_, index) => index * 3 + 0.05);
    const seconds = [...burst, ...rest].sort((a, b) => a - b);
    const figures = summarizeFigures(planAt(seconds, 30));
    expect(figures).toMatchObject({ requests: 20, durationS: 30, peakOver1s: 10, peakOver10s: 1.4 });
    expect(figures.meanPerSecond).toBeCloseTo(20 / 30, 9);
  });

  it('are those of the textbook for even, Poisson and bursty arrivals', async () => {
    const of = async (arrivals: object) =>
      summarizeFigures(createPlan(await workloadOf({ phases: [{ durationS: 400, arrivals }] }), { seed: 1 }));
    const even = await of({ process: 'constant', perSecond: 50 });
    expect(even.gapCv).toBeCloseTo(0, 6);
    // A request at the edge of a window may be rounded into the next.
    expect(even.dispersion).toBeLessThan(0.01);
    const poisson = await of({ process: 'poisson', perSecond: 50 });
    expect(poisson.gapCv).toBeCloseTo(1, 1);
    expect(Math.abs((poisson.dispersion as number) - 1)).toBeLessThan(0.3);
    // Of a renewal process the dispersion of long windows is the square of the cv of its gaps.
    const gamma = await of({ process: 'gamma', perSecond: 50, cv: 3 });
    expect(gamma.gapCv).toBeCloseTo(3, 0);
    expect(Math.abs((gamma.dispersion as number) / 9 - 1)).toBeLessThan(0.35);
  });

  it('are by class, and absent where a plan is too short for them', () => {
    const figures = summarizeFigures(planAt([0, 0.1, 0.2, 0.5], 0.8, [0, 1, 1, 1]));
    expect(figures).toMatchObject({ peakOver1s: null, peakOver10s: null, dispersionWindowS: 0.04 });
    expect(figures.classes).toMatchObject([
      { name: 'a', requests: 1, share: 0.25, meanPerSecond: 1.25 },
      { name: 'b', requests: 3, share: 0.75, meanPerSecond: 3.75 },
    ]);
    expect(summarizeFigures(planAt([0.3], 5)).gapCv).toBeNull();
  });

  it('over time are rates of each class', () => {
    const [one, other] = computeRates(planAt([0, 1, 1.5, 3.9], 4, [0, 1, 1, 0]), 2);
    expect([...(one ?? [])]).toEqual([0.5, 0.5]);
    expect([...(other ?? [])]).toEqual([1, 0]);
  });
});
