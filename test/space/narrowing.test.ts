import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { canonicalJson } from '#base/json.ts';
import { seededRandom } from '#base/random.ts';
import { assignments, sampleAssignment, spaceSize } from '#space/enumerate.ts';
import { toOriginal } from '#space/model-configs.ts';
import { type Narrowing, toggleExclusion, togglePin, whyRuledOut, withoutRestriction } from '#space/narrowing.ts';
import { loadSpace, spaceFromJson } from '#space/source/load.ts';
import type { Assignment } from '#space/types.ts';
import type { ModelConfig } from '#triton/config/model-config.ts';

const base: ModelConfig = {
  name: 'm',
  backend: 'python',
  max_batch_size: 4,
  instance_group: [{ kind: 'KIND_CPU', count: 1 }],
};
const space = spaceFromJson({
  name: 'test',
  parameters: {
    max_batch_size: [1, 4, 8],
    queue_delay_us: { values: [0, 100], when: { max_batch_size: { above: 1 } } },
    instances: [1, 2, 3, 4],
  },
});
const all = [...assignments(space, toOriginal(base))];
const listed = (narrowing: Narrowing): Assignment[] => [...assignments(space, toOriginal(base), narrowing)];

const restriction = (values: readonly number[]) =>
  fc.oneof(
    fc.record({ pinned: fc.constantFrom(...values) }),
    fc.record({ excluded: fc.subarray([...values], { minLength: 1 }) }),
  );
const narrowings: fc.Arbitrary<Narrowing> = fc.record(
  {
    max_batch_size: restriction([1, 4, 8]),
    queue_delay_us: restriction([0, 100]),
    instances: restriction([1, 2, 3, 4]),
  },
  { requiredKeys: [] },
);

describe('a narrowing', () => {
  it('leaves of the space what is not ruled out, no more and no less', () => {
    fc.assert(
      fc.property(narrowings, (narrowing) => {
        const left = listed(narrowing);
        expect(left).toEqual(all.filter((assignment) => whyRuledOut(narrowing, assignment) === null));
        expect(spaceSize(space, toOriginal(base), narrowing)).toBe(left.length);
      }),
    );
  });

  it('lets each of what is left be drawn, and nothing else', () => {
    const narrowing: Narrowing = { queue_delay_us: { pinned: 100 }, instances: { excluded: [1, 3] } };
    const random = seededRandom(1);
    const drawn = Array.from({ length: 600 }, () =>
      canonicalJson(sampleAssignment(space, toOriginal(base), random, narrowing)),
    );
    const texts = listed(narrowing).map((one) => canonicalJson(one));
    expect(new Set(drawn)).toEqual(new Set(texts));
    // 100 draws of each of six on average, with a standard deviation of nine.
    for (const text of texts) expect(drawn.filter((each) => each === text).length).toBeGreaterThan(50);
  });

  it('draws quickly where it leaves a small part of a large space', () => {
    const presets = loadSpace('base');
    const narrowing: Narrowing = { max_batch_size: { pinned: 128 }, queue_delay_us: { pinned: 5000 } };
    const draws = Array.from({ length: 50 }, (_, seed) =>
      sampleAssignment(presets, toOriginal(base), seededRandom(seed), narrowing),
    );
    for (const { max_batch_size, queue_delay_us } of draws) {
      expect(max_batch_size).toBe(128);
      expect([5000, undefined]).toContain(queue_delay_us);
    }
  });

  it('never falls back to the base config where all values of a parameter are excluded', () => {
    expect(listed({ instances: { excluded: [1, 2, 3, 4] } })).toEqual([]);
    expect(spaceSize(space, toOriginal(base), { instances: { excluded: [1, 2, 3, 4] } })).toBe(0);
    const left = listed({ queue_delay_us: { excluded: [0, 100] } });
    expect(left.map(({ max_batch_size }) => max_batch_size)).toEqual([1, 1, 1, 1]);
  });

  it('is changed one value at a time, and every change is taken back by itself', () => {
    const pinned = togglePin({}, 'instances', 2);
    expect(pinned).toEqual({ instances: { pinned: 2 } });
    expect(togglePin(pinned, 'instances', 2)).toEqual({});
    expect(togglePin(pinned, 'instances', 3)).toEqual({ instances: { pinned: 3 } });
    const excluded = toggleExclusion(toggleExclusion(pinned, 'instances', 1), 'instances', 4);
    expect(excluded).toEqual({ instances: { excluded: [1, 4] } });
    expect(toggleExclusion(toggleExclusion(excluded, 'instances', 1), 'instances', 4)).toEqual({});
    expect(withoutRestriction({ ...excluded, max_batch_size: { pinned: 1 } }, 'instances')).toEqual({
      max_batch_size: { pinned: 1 },
    });
  });

  it('says why an assignment is ruled out', () => {
    expect(whyRuledOut({ instances: { pinned: 2 } }, { instances: 4 })).toBe('instances is pinned to 2, not 4');
    expect(whyRuledOut({ instances: { excluded: [4] } }, { instances: 4 })).toBe('instances=4 is excluded');
    expect(whyRuledOut({ instances: { excluded: [4] } }, { max_batch_size: 4 })).toBeNull();
  });
});
