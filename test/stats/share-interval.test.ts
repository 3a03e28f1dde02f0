import { describe, expect, it } from 'vitest';
import { seededRandom } from '#base/random.ts';
import { rateInterval, shareInterval } from '#stats/batch-means.ts';

/**
 * Batches of about 25 arrivals, of which those of the last moments are done in the next batch; a
 * part is never done.
 */
function batches(seed: number, n: number, served: number) {
  const random = seededRandom(seed);
  const [done, due]: [number[], number[]] = [[], []];
  let carried = 0;
  for (let batch = 0; batch < n; batch++) {
    const arrivals = 15 + random.int(0, 20);
    const left = random.int(0, 6);
    let now = carried;
    for (let each = 0; each < arrivals - left; each++) now += random.float() < served ? 1 : 0;
    carried = 0;
    for (let each = 0; each < left; each++) carried += random.float() < served ? 1 : 0;
    done.push(now);
    due.push(arrivals);
  }
  return { done, due };
}

describe('shareInterval', () => {
  it.each([1, 0.6])('covers a true share of %d in at least 93 % of runs', (served) => {
    const covering = Array.from({ length: 400 }, (_, seed) => {
      const { done, due } = batches(seed + 1, 25, served);
      const { low, high } = shareInterval(done, due);
      return low <= served && served <= high;
    }).filter(Boolean);
    expect(covering.length / 400).toBeGreaterThanOrEqual(0.93);
  });

  it('is narrower than an interval that does not know that neighbours make up for each other', () => {
    const width = ({ low, high }: { low: number; high: number }): number => high - low;
    const widths = Array.from({ length: 50 }, (_, seed) => {
      const { done, due } = batches(seed + 1, 25, 1);
      return width(shareInterval(done, due)) / width(rateInterval(done, due));
    });
    expect(widths.reduce((sum, each) => sum + each, 0) / 50).toBeLessThan(0.8);
  });
});
