import { describe, expect, it } from 'vitest';
import { seededRandom } from '#base/random.ts';
import {
  affineLaw,
  checkServiceLaw,
  createSpread,
  executionNs,
  type ServiceLaw,
  splitExecution,
} from '#queueing/service-law.ts';

const law = (changes: Partial<ServiceLaw>): ServiceLaw => ({ ...affineLaw(1000, 100), ...changes });
const points = (...pairs: [number, number][]): ServiceLaw['points'] =>
  pairs.map(([batchSize, executionNs]) => ({ batchSize, executionNs }));

describe('time of an execution that runs alone', () => {
  it('is a fixed part and a part per sample', () => {
    expect([1, 2, 8, 100].map((size) => executionNs(affineLaw(1000, 100), size, 1))).toEqual([1100, 1200, 1800, 11000]);
  });

  it('goes straight between points and on beyond the last', () => {
    const given = law({ points: points([1, 100], [4, 160], [8, 400]) });
    expect([1, 2, 4, 6, 8, 10].map((size) => executionNs(given, size, 1))).toEqual([100, 120, 160, 280, 400, 520]);
  });

  it('never falls beyond the last point, nor below its share before the first', () => {
    const falling = law({ points: points([4, 200], [8, 150]) });
    expect(executionNs(falling, 16, 1)).toBe(150);
    expect(executionNs(falling, 1, 1)).toBe(200);
    const steep = law({ points: points([4, 100], [8, 400]) });
    expect(executionNs(steep, 1, 1)).toBe(25);
    expect(executionNs(law({ points: points([4, 200], [8, 280]) }), 2, 1)).toBe(160);
  });

  it('is the same for every size when only one is known', () => {
    expect(executionNs(law({ points: points([4, 700]) }), 32, 1)).toBe(700);
  });

  it('pads to the next size, and to multiples of the last', () => {
    const padded = law({ paddedSizes: [1, 4, 8] });
    const sizes = [1, 2, 4, 5, 8, 9, 17];
    expect(sizes.map((size) => executionNs(padded, size, 1))).toEqual([1100, 1400, 1400, 1800, 1800, 2600, 3400]);
  });
});

describe('interference', () => {
  const between = (perInstance: number, batchExponent: number) => law({ interference: { perInstance, batchExponent } });

  it('ranges from none to one after the other', () => {
    expect(executionNs(between(0, 0.4), 4, 3)).toBe(1400);
    expect(executionNs(between(0.5, 0), 4, 3)).toBe(2800);
    expect(executionNs(between(1, 0), 4, 3)).toBe(4200);
    expect(executionNs(between(1, 0), 4, 1)).toBe(1400);
  });

  it('grows with the batch up to its bound', () => {
    expect(executionNs(between(0.5, 0.5), 4, 2)).toBe(2800);
    expect(executionNs(between(0.5, 1), 100, 2)).toBe(11000 * 3.5);
  });
});

describe('spread', () => {
  it('keeps the mean and has the asked-for deviation', () => {
    const random = seededRandom(5);
    const draws = Array.from({ length: 60_000 }, createSpread(0.4, random));
    const mean = draws.reduce((sum, value) => sum + value, 0) / draws.length;
    const deviation = Math.sqrt(draws.reduce((sum, value) => sum + (value - mean) ** 2, 0) / draws.length);
    expect(mean).toBeCloseTo(1, 2);
    expect(deviation / mean).toBeCloseTo(0.4, 2);
    expect(Math.min(...draws)).toBeGreaterThan(0);
  });

  it('draws nothing when there is none', () => {
    const random = seededRandom(5);
    expect(createSpread(0, random)()).toBe(1);
    expect(random.float()).toBe(seededRandom(5).float());
  });
});

describe('split', () => {
  it('adds up to the whole', () => {
    const split = splitExecution(law({ split: { input: 0.25, output: 0.125 } }), 800);
    expect(split).toEqual({ inputNs: 200, inferNs: 500, outputNs: 100 });
  });
});

describe('a law that no server has', () => {
  it.each<[Partial<ServiceLaw>, RegExp]>([
    [{ points: [] }, /no points/],
    [{ points: points([1, 0]) }, /takes 0 ns/],
    [{ points: points([2, 5], [2, 6]) }, /batch sizes of its points are 2, 2/],
    [{ points: points([0, 5]) }, /are 0/],
    [{ paddedSizes: [4, 2] }, /padded sizes are 4, 2/],
    [{ cv: -0.1 }, /cv is -0.1/],
    [{ atOnce: 0 }, /atOnce is 0/],
    [{ frontEndNs: Number.NaN }, /frontEndNs is NaN/],
    [{ interference: { perInstance: -1, batchExponent: 0 } }, /perInstance is -1/],
    [{ split: { input: 0.6, output: 0.5 } }, /more than the whole/],
  ])('is refused: %o', (changes, reason) => {
    expect(() => checkServiceLaw(law(changes))).toThrow(reason);
  });

  it('while a sound one passes', () => {
    expect(() => checkServiceLaw(law({ cv: 0.3, paddedSizes: [1, 2, 4], frontEndNs: 10 }))).not.toThrow();
  });
});
