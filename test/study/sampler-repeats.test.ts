import { describe, expect, it } from 'vitest';
import { seededRandom } from '#base/random.ts';
import { toChoice } from '#perfmodel/modelled-config.ts';
import { computePosterior, type Hypothesis, matern52 } from '#stats/gaussian-process.ts';
import { listChoices } from '#study/search/queueing/choices.ts';
import { memoizeLast } from '#study/search/queueing/memoize.ts';
import type { SpaceView } from '#study/search/samplers/space-view.ts';
import { configOf, toCandidate } from './builders.ts';

describe('what is memoized', () => {
  const counted = () => {
    let times = 0;
    const sum = memoizeLast(
      (list: readonly { readonly value: number }[]) => {
        times++;
        return list.reduce((total, { value }) => total + value, 0);
      },
      (list) => list,
    );
    return { sum, times: () => times };
  };

  it('is not worked out again for another list of the same objects', () => {
    const { sum, times } = counted();
    const list = [{ value: 1 }, { value: 2 }];
    expect([sum(list), sum([...list]), times()]).toEqual([3, 3, 1]);
  });

  it('is worked out for a list that has grown in place, and for objects that only look the same', () => {
    const { sum, times } = counted();
    const list = [{ value: 1 }];
    expect(sum(list)).toBe(1);
    list.push({ value: 2 });
    expect([sum(list), sum([{ value: 1 }, { value: 2 }]), times()]).toEqual([3, 3, 3]);
  });

  it('is the last few answers', () => {
    const { sum, times } = counted();
    const lists = [1, 2, 3, 4].map((value) => [{ value }]);
    for (const list of lists) sum(list);
    for (const list of [...lists].reverse()) sum(list);
    expect(times()).toBe(5);
  });
});

describe('hypotheses that say the same of all readings', () => {
  const readings = [0, 1, 3].map((place) => ({ place, value: Math.sin(place), noiseVariance: 0.01 }));
  /** Alike between the readings, but not beyond. */
  const farther = (scale: number): Hypothesis<number> => ({
    kernel: (a, b) => (Math.max(a, b) > 10 ? scale : 1) * matern52(Math.abs(a - b)),
    logPrior: 0,
  });

  it('are one, the first', () => {
    expect(computePosterior(readings, [farther(4), farther(9)])(20).sd).toBeCloseTo(2, 6);
    expect(computePosterior(readings, [farther(9), farther(4)])(20).sd).toBeCloseTo(3, 6);
  });

  it('are two where one was likelier before', () => {
    const likelier = { ...farther(9), logPrior: 1 };
    expect(computePosterior(readings, [farther(4), likelier])(20).sd).toBeCloseTo(3, 6);
  });
});

describe('the choices of a large space', () => {
  const SIZE = 5000;
  let built = 0;
  const space: SpaceView = {
    *assignments() {
      for (let count = 1; count <= SIZE; count++) yield { count };
    },
    sample: (random) => ({ count: random.int(1, SIZE) }),
    complete: (wanted) => wanted,
    build(assignment) {
      built++;
      return { legal: true, candidate: toCandidate(configOf(Number(assignment.count), 4), assignment) };
    },
  };

  it('are those that a seed draws, in that order, each built once', () => {
    const random = seededRandom(3);
    const drawn = Array.from({ length: 4000 }, () => space.sample(random).count);
    const found = listChoices(space, 3).map(({ candidate }) => candidate.assignment.count);
    expect(found).toEqual([...new Set(drawn)]);
    expect(built).toBe(found.length);
  });

  it('are read of each candidate once', () => {
    const candidate = toCandidate(configOf(2, 4));
    expect(toChoice(candidate)).toBe(toChoice(candidate));
    expect(toChoice(toCandidate(configOf(2, 4)))).toEqual(toChoice(candidate));
  });
});
