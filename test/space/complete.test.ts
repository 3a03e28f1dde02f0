import fc from 'fast-check';
import { expect, it } from 'vitest';
import { seededRandom } from '#base/random.ts';
import { completeAssignment } from '#space/complete.ts';
import { assignments } from '#space/enumerate.ts';
import { toOriginal } from '#space/model-configs.ts';
import { spaceFromJson } from '#space/source/load.ts';
import type { Assignment } from '#space/types.ts';
import { originalConfig as base } from '../study/builders.ts';

const space = spaceFromJson({
  name: 'test',
  parameters: {
    max_batch_size: [1, 4, 8],
    queue_delay_us: { values: [0, 100, 500], when: { max_batch_size: { above: 1 } } },
    instances: [1, 2, 3],
  },
});
const complete = (wanted: Assignment, narrowing = {}, seed = 1) =>
  completeAssignment(space, toOriginal(base), wanted, seededRandom(seed), narrowing);

it('keeps what it is given, and drops a value whose parameter does not apply', () => {
  const [full, small] = [
    { max_batch_size: 8, queue_delay_us: 100, instances: 3 },
    { max_batch_size: 1, instances: 2 },
  ];
  expect(complete(full)).toEqual(full);
  expect(complete({ ...small, queue_delay_us: 500 })).toEqual(small);
});

it('draws what is not given, each value in time, and what is given but is no value of the parameter', () => {
  const drawn = (wanted: Assignment) =>
    new Set(Array.from({ length: 60 }, (_, seed) => complete(wanted, {}, seed)?.queue_delay_us));
  expect(drawn({ max_batch_size: 4, instances: 1 })).toEqual(new Set([0, 100, 500]));
  expect(drawn({ max_batch_size: 4, instances: 1, queue_delay_us: 7 })).toEqual(new Set([0, 100, 500]));
});

it('keeps within what is left of the space, and is null where nothing is', () => {
  expect(complete({ max_batch_size: 8, queue_delay_us: 0, instances: 1 }, { queue_delay_us: { pinned: 500 } })).toEqual(
    {
      max_batch_size: 8,
      queue_delay_us: 500,
      instances: 1,
    },
  );
  expect(complete({ max_batch_size: 8 }, { queue_delay_us: { excluded: [0, 100, 500] } })).toBeNull();
});

it('gives an assignment of the space whatever is wanted', () => {
  const all = [...assignments(space, toOriginal(base))].map((each) => JSON.stringify(each));
  const wanted = fc.record(
    {
      max_batch_size: fc.constantFrom(1, 4, 8, 16),
      queue_delay_us: fc.constantFrom(0, 100, 500, 'much'),
      instances: fc.integer({ min: 0, max: 4 }),
      other: fc.constant(true),
    },
    { requiredKeys: [] },
  );
  fc.assert(
    fc.property(wanted, fc.integer(), (values, seed) => {
      expect(all).toContain(JSON.stringify(complete(values, {}, seed)));
    }),
  );
});
