import { describe, expect, it } from 'vitest';
import { normalAbove } from '#stats/normal.ts';

describe('a normal value that is known to be above another', () => {
  /** Moments by summing up what is left of the density. */
  const summed = (mean: number, sd: number, least: number) => {
    let [mass, first, second] = [0, 0, 0];
    for (let step = 0; step < 400_000; step++) {
      const above = (step + 0.5) * 2e-5 * sd;
      const weight = Math.exp(-(((least + above - mean) / sd) ** 2) / 2 + ((least - mean) / sd) ** 2 / 2);
      mass += weight;
      first += weight * above;
      second += weight * above ** 2;
    }
    const centre = first / mass;
    return { mean: least + centre, sd: Math.sqrt(second / mass - centre ** 2) };
  };

  it.each([
    [0, 1, -1.5],
    [3, 2, 3],
    [0, 1, 1.99],
    [0, 1, 2.01],
    [10, 0.5, 12],
    [0, 1, 9],
  ])('has the moments of what is left: mean %s, deviation %s, above %s', (mean, sd, least) => {
    const [known, truth] = [normalAbove({ mean, sd }, least), summed(mean, sd, least)];
    expect(Math.abs(known.mean - truth.mean)).toBeLessThan(2e-4 * sd);
    expect(Math.abs(known.sd / truth.sd - 1)).toBeLessThan(2e-3);
  });

  it('is what it was where that is nothing new, and hardly above what was held for impossible', () => {
    expect(normalAbove({ mean: 5, sd: 0.1 }, 0)).toEqual({ mean: expect.closeTo(5, 9), sd: expect.closeTo(0.1, 9) });
    const far = normalAbove({ mean: 0, sd: 1 }, 300);
    expect(far.mean).toBeCloseTo(300 + 1 / 300, 4);
    expect(far.sd).toBeGreaterThan(0);
  });
});
