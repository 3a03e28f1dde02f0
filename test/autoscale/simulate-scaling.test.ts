import { describe, expect, it } from 'vitest';
import { autoscalers, desiredReplicas } from '#autoscale/autoscaler.ts';
import { clairvoyantHours, simulateScaling } from '#autoscale/simulate-scaling.ts';

const replica = { capacityPerSecond: 100, saturationPerSecond: 110, budgetSeconds: 0.05, startSeconds: 60 };
const values = { targetPerSecond: 80, minReplicas: 1, maxReplicas: 100, scaleDownSeconds: 300 };

const rates = (...parts: readonly (readonly [seconds: number, perSecond: number])[]): Float64Array =>
  Float64Array.from(parts.flatMap(([seconds, perSecond]) => Array.from({ length: seconds }, () => perSecond)));

describe('what an autoscaler wants', () => {
  const wish = (perSecond: number, replicas: number, kind: 'keda' | 'knative' = 'keda', panicPerSecond = 0): number =>
    desiredReplicas(autoscalers[kind], values, { perSecond, panicPerSecond }, replicas);

  it('is the rate over the target, rounded up, beyond a tolerance of 10 %', () => {
    expect(wish(400, 1)).toBe(5);
    expect(wish(401, 1)).toBe(6);
    expect(wish(439, 5)).toBe(5);
    expect(wish(441, 5)).toBe(6);
    expect(wish(361, 5)).toBe(5);
    expect(wish(319, 5)).toBe(4);
    expect(wish(0, 5)).toBe(1);
    expect(wish(1e6, 5)).toBe(100);
  });

  it('has no tolerance with Knative, which panics at twice the target', () => {
    expect(wish(401, 5, 'knative')).toBe(6);
    expect(wish(400, 5, 'knative', 799)).toBe(5);
    expect(wish(400, 5, 'knative', 800)).toBe(10);
  });
});

describe('a simulated autoscaler', () => {
  it('keeps a steady rate with the replicas that it needs', () => {
    const outcome = simulateScaling(rates([3600, 400]), replica, autoscalers.hpa, values);
    expect(outcome).toEqual({ brokenShare: 0, replicaHours: 5, mostReplicas: 5 });
  });

  it('is late by its window, its decision and the start of a replica', () => {
    const outcome = simulateScaling(rates([600, 80], [600, 320]), replica, autoscalers.hpa, values);
    const brokenSeconds = (outcome.brokenShare * (600 * 80 + 600 * 320)) / 320;
    expect(brokenSeconds).toBeGreaterThan(60);
    expect(brokenSeconds).toBeLessThan(60 + 60 + 10 + 15 + 60);
    // Knative panics.
    const sooner = simulateScaling(rates([600, 80], [600, 320]), replica, autoscalers.knative, values);
    expect(sooner.brokenShare).toBeLessThan(outcome.brokenShare);
  });

  it('works off what waited before the limit holds again', () => {
    const slow = { ...replica, startSeconds: 300 };
    const short = simulateScaling(rates([600, 80], [600, 320]), replica, autoscalers.hpa, values);
    const long = simulateScaling(rates([600, 80], [600, 320]), slow, autoscalers.hpa, values);
    expect(long.brokenShare).toBeGreaterThan(short.brokenShare);
    expect(long.mostReplicas).toBeGreaterThanOrEqual(4);
  });

  it('takes fewer replicas once they were enough for a while', () => {
    const sparing = { ...values, scaleDownSeconds: 60 };
    const traffic = rates([600, 400], [1200, 80]);
    const patient = simulateScaling(traffic, replica, autoscalers.hpa, values);
    const quick = simulateScaling(traffic, replica, autoscalers.hpa, sparing);
    expect(quick.replicaHours).toBeLessThan(patient.replicaHours);
    expect(patient.brokenShare).toBe(0);
  });
});

describe('a clairvoyant', () => {
  it('has the fewest replicas at every second, and pays for starts', () => {
    expect(clairvoyantHours(rates([3600, 250]), replica)).toBeCloseTo(3);
    expect(clairvoyantHours(rates([1800, 50], [1800, 250]), replica)).toBeCloseTo((3600 + 2 * (1800 + 60)) / 3600);
  });

  it('keeps a replica through a pause that is shorter than a start', () => {
    const withPause = (seconds: number): number =>
      clairvoyantHours(rates([600, 150], [seconds, 50], [600, 150]), replica);
    expect(withPause(30) * 3600).toBeCloseTo(2 * 1230);
    expect(withPause(600) * 3600).toBeCloseTo(1800 + 1200 + 60);
  });
});
