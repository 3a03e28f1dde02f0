import { describe, expect, it } from 'vitest';
import { type SweepPlan, sweep } from '#profiler/sweep.ts';

/** The levels that are measured when those above `limit` are over the latency. */
async function walked(plan: Partial<SweepPlan> & Pick<SweepPlan, 'range'>, limit = Number.POSITIVE_INFINITY) {
  const levels: number[] = [];
  await sweep({ order: 'linear', wholeLevels: true, ...plan }, async (value) => {
    levels.push(value);
    return value <= limit;
  });
  return levels;
}

describe('a linear sweep', () => {
  it('goes from start to end, both included, by the step', async () => {
    expect(await walked({ range: { start: 1, end: 9, step: 4 } })).toEqual([1, 5, 9]);
    expect(await walked({ range: { start: 1, end: 8, step: 4 } })).toEqual([1, 5]);
    expect(await walked({ range: { start: 3, end: 3, step: 1 } })).toEqual([3]);
  });

  it('meets an end that a sum of fractions misses, and keeps a level of many digits', async () => {
    expect(await walked({ range: { start: 0.1, end: 0.3, step: 0.1 } })).toHaveLength(3);
    const odd = 1e3 / 83.5;
    expect(await walked({ range: { start: odd, end: odd, step: 1 } })).toEqual([odd]);
  });

  it('ends with the first level over the limit, with or without an end', async () => {
    expect(await walked({ range: { start: 1, end: 9, step: 1 } }, 3)).toEqual([1, 2, 3, 4]);
    expect(await walked({ range: { start: 2, end: 0, step: 2 } }, 5)).toEqual([2, 4, 6]);
  });
});

describe('a binary sweep', () => {
  const range = { start: 1, end: 64, step: 1 };

  it('closes in on the highest level within the limit', async () => {
    const levels = await walked({ range, order: 'binary' }, 21);
    expect(levels.slice(0, 3)).toEqual([1, 64, 32]);
    expect(levels).toContain(21);
    expect(levels).toContain(22);
    expect(levels.length).toBeLessThanOrEqual(2 + 6);
  });

  it('has nothing to look for when the first level is over the limit or the last within it', async () => {
    expect(await walked({ range, order: 'binary' }, 0)).toEqual([1]);
    expect(await walked({ range, order: 'binary' }, 64)).toEqual([1, 64]);
  });

  it('halves rates to the step', async () => {
    const levels = await walked({ range: { start: 10, end: 20, step: 2.5 }, order: 'binary', wholeLevels: false }, 14);
    expect(levels).toEqual([10, 20, 15, 12.5]);
  });
});
