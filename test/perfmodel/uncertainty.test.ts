import { describe, expect, it } from 'vitest';
import type { ExecutionPoint } from '../../src/perfmodel/interference.ts';
import { computeUncertainty, type PredictedExecution } from '../../src/perfmodel/uncertainty.ts';
import { affineLaw, type ServiceLaw } from '../../src/queueing/service-law.ts';

const MS = 1e6;
const work: PredictedExecution = { largestBatch: 16, batchSize: 1, busyInstances: 1 };
const seen = (batchSize: number, more: Partial<ExecutionPoint> = {}): ExecutionPoint => ({
  settingsKey: 'plain',
  batchSize,
  instances: 1,
  busyInstances: 1,
  surroundingBatch: 1,
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
/** Sixteen take longer together than one after the other. */
const stepped = lawThrough({ 1: 10, 16: 200 });

describe('the uncertainty about a batch size', () => {
  const ends = [seen(1), seen(16)];
  const at = (batchSize: number, law: ServiceLaw, points = ends): number =>
    computeUncertainty({ ...work, batchSize }, points, law);

  it('is none of those that were seen', () => {
    for (const batchSize of [1, 15, 16]) expect(at(batchSize, stepped)).toBe(0);
    expect(at(4, stepped, [...ends, seen(4)])).toBe(0);
  });

  it('is little where the neighbours take about as long, and large where there must be a step between them', () => {
    expect(at(4, flat)).toBeLessThan(0.02);
    expect(at(4, stepped)).toBeGreaterThan(0.5);
    expect(at(4, lawThrough({ 1: 10, 16: 55 }))).toBeLessThan(0.15);
  });

  it('is large where times grow and then stay, as no line does: sizes are padded', () => {
    const sizes = [seen(1), seen(8), seen(16)];
    const padded = at(4, lawThrough({ 1: 2.7, 8: 8.2, 16: 8.3 }), sizes);
    expect(padded).toBeGreaterThan(2 * at(4, lawThrough({ 1: 2.7, 8: 8.2, 16: 14.5 }), sizes));
  });

  it('remains where few executions were of that size', () => {
    expect(at(4, stepped, [...ends, seen(4, { weight: 0.1 })])).toBe(at(4, stepped));
  });

  it('grows beyond the largest, the more so where steps were seen', () => {
    const law = lawThrough({ 1: 10, 8: 20, 16: 36 });
    const grown = [32, 64].map((batchSize) => at(batchSize, law));
    expect(grown[0]).toBeGreaterThan(0);
    expect(grown[1]).toBeGreaterThan(grown[0] as number);
    expect(at(64, stepped)).toBeGreaterThan(3 * at(64, flat));
  });
});

describe('the uncertainty about executions of one without batching', () => {
  /**
   * Four instances; a sample takes about as long in a batch as alone, and single executions beside
   * batches six times as long.
   */
  const costly = { ...lawThrough({ 1: 0.2, 4: 0.8 }), interference: { perInstance: 5 / 3, batchExponent: 0 } };
  const beside = (batchSize: number, surroundingBatch: number): ExecutionPoint =>
    seen(batchSize, { instances: 4, busyInstances: 4, surroundingBatch, executionNs: 1.2 * batchSize * MS });
  const points = [seen(1, { executionNs: 0.2 * MS }), beside(1, 3), beside(4, 3)];
  const alone: PredictedExecution = { ...work, largestBatch: 1, busyInstances: 4 };

  it('is large where they were slow beside batches that save little: it may be the batches', () => {
    expect(computeUncertainty(alone, points, costly)).toBeGreaterThan(1);
    expect(computeUncertainty({ ...alone, largestBatch: 4 }, points, costly)).toBe(0);
  });

  it('is gone once they were seen beside each other, and where but one is busy', () => {
    expect(computeUncertainty(alone, [...points, beside(1, 1)], costly)).toBe(0);
    expect(computeUncertainty({ ...alone, busyInstances: 1 }, points, costly)).toBe(0);
  });

  it('is none where batches save much, or none was seen', () => {
    const cheap = { ...costly, ...lawThrough({ 1: 0.2, 4: 0.3 }), interference: costly.interference };
    expect(computeUncertainty(alone, points, cheap)).toBe(0);
    expect(computeUncertainty(alone, points.slice(0, 2), costly)).toBe(0);
  });
});
