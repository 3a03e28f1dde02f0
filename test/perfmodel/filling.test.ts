import { describe, expect, it } from 'vitest';
import { fillingBeyond, withFilling } from '#perfmodel/filling.ts';
import { affineLaw, executionNs } from '#queueing/service-law.ts';

const MS = 1e6;
const flat = affineLaw(7 * MS, 0);
const linear = affineLaw(0, MS);

describe('the time of a batch beyond the largest measured one', () => {
  it('is longer than a flat line says, and less sure, the farther it is', () => {
    const [near, far] = [fillingBeyond(32, 16, flat), fillingBeyond(128, 16, flat)];
    // ln 8 squared over twice ln 64.
    expect(far.mean).toBeCloseTo(0.52, 2);
    expect(far.sd).toBeGreaterThan(0.6);
    expect(near.mean).toBeLessThan(0.1 * 0.7);
    expect(near.sd).toBeLessThan(0.2);
  });

  it('is that of the line where each sample takes as long, and for measured batches', () => {
    expect(fillingBeyond(128, 16, linear)).toEqual({ mean: 0, sd: 0 });
    expect(fillingBeyond(16, 16, flat)).toEqual({ mean: 0, sd: 0 });
  });

  it('never needs more than in proportion to the batch', () => {
    for (const batch of [17, 32, 64, 256, 1024, 1e5])
      expect(fillingBeyond(batch, 16, flat).mean).toBeLessThanOrEqual(Math.log(batch / 16));
  });

  it('changes a law beyond what was measured only', () => {
    const points = [1, 4, 16, 64, 256].map((batchSize) => ({ batchSize, executionNs: 7 * MS }));
    const law = withFilling({ ...flat, points }, 16);
    expect(executionNs(law, 16, 1)).toBe(7 * MS);
    expect(executionNs(law, 64, 1)).toBeGreaterThan(8 * MS);
    expect(executionNs(law, 256, 1)).toBeGreaterThan(executionNs(law, 64, 1));
    expect(executionNs(law, 256, 1)).toBeLessThan(16 * 7 * MS);
  });
});
