import { describe, expect, it } from 'vitest';
import type { ExecutionPoint } from '#perfmodel/interference.ts';
import { batchSizeUncertainty } from '#perfmodel/uncertainty.ts';
import { affineLaw, type ServiceLaw } from '#queueing/service-law.ts';

const MS = 1e6;
const seen = (batchSize: number, more: Partial<ExecutionPoint> = {}): ExecutionPoint => ({
  settingsKey: 'plain',
  batchSize,
  instances: 1,
  busyInstances: 1,
  executionNs: MS,
  weight: 0.9,
  ...more,
});
/** Milliseconds by batch size, on straight lines between. */
const lawThrough = (times: Readonly<Record<number, number>>): ServiceLaw => ({
  ...affineLaw(1, 1),
  points: Object.entries(times).map(([batchSize, ms]) => ({ batchSize: Number(batchSize), executionNs: ms * MS })),
  interference: { perInstance: 0, batchExponent: 0 },
});
const flat = lawThrough({ 1: 10, 16: 12 });
/** Sixteen take twenty times as long as one. */
const stepped = lawThrough({ 1: 10, 16: 200 });

describe('the uncertainty about a batch size', () => {
  const ends = [seen(1), seen(16)];
  const at = (batchSize: number, law: ServiceLaw, points = ends): number =>
    batchSizeUncertainty(batchSize, points, law);

  it('is none of those that were seen', () => {
    for (const batchSize of [1, 15, 16]) expect(at(batchSize, stepped)).toBe(0);
    expect(at(4, stepped, [...ends, seen(4)])).toBe(0);
  });

  it('is little where the neighbours take about as long, and larger the more their times differ', () => {
    expect(at(4, flat)).toBeLessThan(0.02);
    expect(at(4, lawThrough({ 1: 10, 16: 55 }))).toBeLessThan(0.15);
    expect(at(4, stepped)).toBeGreaterThan(1.5 * at(4, lawThrough({ 1: 10, 16: 55 })));
  });

  it('remains where few executions were of that size', () => {
    expect(at(4, stepped, [...ends, seen(4, { weight: 0.1 })])).toBe(at(4, stepped));
  });

  it('grows beyond the largest', () => {
    const law = lawThrough({ 1: 10, 8: 20, 16: 36 });
    const grown = [32, 64].map((batchSize) => at(batchSize, law));
    expect(grown[0]).toBeGreaterThan(0);
    expect(grown[1]).toBeGreaterThan(grown[0] as number);
  });
});
