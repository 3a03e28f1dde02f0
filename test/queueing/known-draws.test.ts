import { describe, expect, it } from 'vitest';
import { seededRandom } from '#base/random.ts';
import { computeMeanTimes } from '#queueing/mean-times.ts';
import { createSpread, executionNs, type ServiceLaw } from '#queueing/service-law.ts';
import { sharedSpread } from '#queueing/shared-spread.ts';

describe('factors that simulations share', () => {
  it('are those of a generator of their own, whoever drew them first, and beyond those that are kept', () => {
    const own = Array.from({ length: 20_000 }, createSpread(0.2, seededRandom(7)));
    const short = sharedSpread(0.2, 7);
    expect([short(), short(), short()]).toEqual(own.slice(0, 3));
    expect(Array.from({ length: 20_000 }, sharedSpread(0.2, 7))).toEqual(own);
    expect([short(), short()]).toEqual(own.slice(3, 5));
    expect(sharedSpread(0, 7)()).toBe(1);
  });

  it('are the same again when many others were drawn meanwhile', () => {
    const first = sharedSpread(0.1, 1)();
    for (let seed = 2; seed < 100; seed++) expect(sharedSpread(0.1, seed)()).not.toBe(first);
    expect(sharedSpread(0.1, 1)()).toBe(first);
  });
});

describe('mean times that are known', () => {
  const law: ServiceLaw = {
    points: [
      { batchSize: 1, executionNs: 2e6 },
      { batchSize: 4, executionNs: 3e6 },
      { batchSize: 16, executionNs: 9e6 },
    ],
    interference: { perInstance: 0.3, batchExponent: 0.2 },
    paddedSizes: [1, 8, 64],
    cv: 0,
    frontEndNs: 0,
    split: { input: 0, output: 0 },
  };

  it.each([
    ['a law with interference', law],
    ['one without', { ...law, interference: { perInstance: 0, batchExponent: 0 } }],
  ])('are those of %s, at first and later, for large batches and parts of samples too', (_, given) => {
    const times = computeMeanTimes(given);
    expect(computeMeanTimes(given)).toBe(times);
    for (let look = 0; look < 2; look++)
      for (const batchSize of [1, 2, 3.5, 8, 63, 64, 65, 1000])
        for (const busy of [0, 1, 1.7, 4])
          expect(times.executionNs(batchSize, busy)).toBe(executionNs(given, batchSize, busy));
  });
});
