import { describe, expect, it } from 'vitest';
import type { ArrivalPlan } from '#workload/arrival-plan.ts';
import { takeExcerpt } from '#workload/excerpt.ts';

/**
 * Requests evenly spaced at `perSecond` in the first half, ten times as many in the second, each of
 * the class of its half.
 */
function quietThenBusy(perSecond: number, halfS: number): ArrivalPlan {
  const quiet = Array.from({ length: perSecond * halfS }, (_, index) => (index / perSecond) * 1e9);
  const busy = Array.from({ length: 10 * perSecond * halfS }, (_, index) => (halfS + index / (10 * perSecond)) * 1e9);
  return {
    arrivalsNs: Float64Array.from([...quiet, ...busy]),
    classOf: Uint16Array.from([...quiet.map(() => 0), ...busy.map(() => 1)]),
    classes: ['quiet', 'busy'],
    durationNs: 2 * halfS * 1e9,
  };
}

describe('takeExcerpt', () => {
  const plan = quietThenBusy(10, 400);

  it('leaves a short plan as it is', () => {
    expect(takeExcerpt(plan, plan.arrivalsNs.length)).toBe(plan);
  });

  it('keeps the rate, the rates of its phases, the order and the classes', () => {
    const excerpt = takeExcerpt(plan, 4400);
    const { arrivalsNs, classOf, durationNs } = excerpt;
    expect(arrivalsNs.length).toBeGreaterThan(4200);
    expect(arrivalsNs.length).toBeLessThan(4600);
    expect(arrivalsNs.length / durationNs).toBeCloseTo(plan.arrivalsNs.length / plan.durationNs, 10);
    expect([...arrivalsNs]).toEqual([...arrivalsNs].sort((a, b) => a - b));
    const ofHalf = (kind: number): number[] => [...arrivalsNs].filter((_, index) => classOf[index] === kind);
    expect(Math.max(...ofHalf(0))).toBeLessThan(durationNs / 2);
    expect(Math.min(...ofHalf(1))).toBeGreaterThanOrEqual(durationNs / 2);
    expect(ofHalf(1).length / ofHalf(0).length).toBeCloseTo(10, 0);
  });
});
