import { describe, expect, it } from 'vitest';
import { autoscalerKinds, autoscalers } from '#autoscale/autoscaler.ts';
import { chooseValues } from '#autoscale/choose-values.ts';
import { recordedTraffic } from '#autoscale/recorded-traffic.ts';
import { scaleToPeak, type TrafficCurve } from '#autoscale/traffic-curve.ts';

const replica = { capacityPerSecond: 200, saturationPerSecond: 220, budgetSeconds: 0.05, startSeconds: 60 };
const traffic = recordedTraffic.map((curve) => scaleToPeak(curve, 2000));
const wish = { holdShare: 0.95, leastScaleDownSeconds: 0 };

describe('the values of an autoscaler', () => {
  it.each(autoscalerKinds)('hold the limit over recorded traffic with %s', (kind) => {
    const { values, outcomes, holds } = chooseValues(traffic, replica, autoscalers[kind], wish);
    expect(holds).toBe(true);
    expect(values.targetPerSecond).toBeLessThanOrEqual(200);
    expect(values.maxReplicas * values.targetPerSecond).toBeGreaterThanOrEqual(2000);
    for (const { brokenShare, replicaHours, clairvoyantHours, hours } of outcomes) {
      expect(brokenShare).toBeLessThan(0.05);
      expect(replicaHours / clairvoyantHours).toBeLessThan(1.4);
      expect(replicaHours).toBeLessThan(10 * hours);
    }
  });

  it('need more replicas for a higher chance and for slower starts', () => {
    const hours = (holdShare: number, startSeconds: number): number =>
      chooseValues(traffic, { ...replica, startSeconds }, autoscalers.keda, { ...wish, holdShare }).outcomes.reduce(
        (sum, { replicaHours }) => sum + replicaHours,
        0,
      );
    expect(hours(0.99, 60)).toBeGreaterThan(hours(0.9, 60));
    expect(hours(0.95, 300)).toBeGreaterThan(hours(0.95, 15));
  });

  it('keep replicas for as long as a burst needs to recover', () => {
    const { values } = chooseValues(traffic, replica, autoscalers.keda, { ...wish, leastScaleDownSeconds: 200.5 });
    expect(values.scaleDownSeconds).toBeGreaterThanOrEqual(201);
  });

  it('keep all replicas where traffic is faster than their start', () => {
    // A minute of ten times the rate every ten minutes.
    const spikes: TrafficCurve = {
      name: 'spikes',
      stepSeconds: 60,
      perSecond: Array.from({ length: 600 }, (_, minute) => (minute % 10 === 0 ? 2000 : 200)),
    };
    const { values, holds } = chooseValues([spikes], replica, autoscalers.keda, wish);
    expect(holds).toBe(true);
    expect(values.minReplicas * 200).toBeGreaterThanOrEqual(1800);
  });
});
