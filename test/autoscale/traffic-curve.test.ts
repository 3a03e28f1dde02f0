import { describe, expect, it } from 'vitest';
import { drawSeconds, scaleToPeak, toTrafficCurve } from '#autoscale/traffic-curve.ts';
import { parseWorkload } from '#workload/read-workload.ts';

const curveFrom = async (phases: readonly object[]) =>
  toTrafficCurve(await parseWorkload(JSON.stringify({ workloadVersion: 1, name: 'w', phases }), '/tmp/w.json'));

describe("a workload's curve", () => {
  it('has the mean rate of each minute', async () => {
    const curve = await curveFrom([
      { durationS: 3600, arrivals: { process: 'poisson', perSecond: 20 } },
      { durationS: 3600, arrivals: { process: 'ramp', fromPerSecond: 20, toPerSecond: 80 } },
    ]);
    expect(curve).toMatchObject({ name: 'w', stepSeconds: 60 });
    expect(curve.perSecond).toHaveLength(120);
    expect(curve.perSecond[0]).toBeCloseTo(20);
    expect(curve.perSecond[60]).toBeCloseTo(20.5);
    expect(curve.perSecond[119]).toBeCloseTo(79.5);
  });

  it('counts the arrivals of a trace', async () => {
    const atS = Array.from({ length: 600 }, (_, second) => second * 0.5);
    const { stepSeconds, perSecond } = await curveFrom([{ durationS: 600, arrivals: { process: 'trace', atS } }]);
    expect(stepSeconds).toBe(10);
    expect(perSecond[0]).toBe(2);
    expect(perSecond[59]).toBe(0);
    expect(perSecond.reduce((sum, rate) => sum + rate * stepSeconds, 0)).toBeCloseTo(600);
  });

  it('keeps phases that begin within a step', async () => {
    const { perSecond, stepSeconds } = await curveFrom([
      { durationS: 90, arrivals: { process: 'constant', perSecond: 10 } },
      { durationS: 3630, arrivals: { process: 'constant', perSecond: 30 } },
    ]);
    expect(stepSeconds).toBe(60);
    expect(perSecond.slice(0, 3).map((rate) => Math.round(rate))).toEqual([10, 20, 30]);
  });

  it('is scaled to a peak, and drawn as seconds', () => {
    const curve = scaleToPeak({ name: 'c', stepSeconds: 2, perSecond: [1, 2, 4] }, 100);
    expect(curve.perSecond).toEqual([25, 50, 100]);
    expect([...drawSeconds(curve)]).toEqual([25, 31.25, 43.75, 62.5, 87.5, 100]);
  });
});
