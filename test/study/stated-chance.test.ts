import { describe, expect, it } from 'vitest';
import { statedChance } from '#study/search/queueing/acquisition.ts';

describe('the chance that a proposal is given', () => {
  it('rises with that of the model, from 0 to nine in ten', () => {
    const stated = Array.from({ length: 101 }, (_, percent) => statedChance(percent / 100));
    expect(stated[0]).toBe(0);
    expect(stated.at(-1)).toBe(0.9);
    expect(stated).toEqual([...stated].sort((a, b) => a - b));
    expect(stated.slice(5).every((each, index) => each < (index + 5) / 100)).toBe(true);
  });

  it('is what proposals of that chance kept: two in three of those given 80 %', () => {
    expect(statedChance(0.8)).toBeCloseTo(0.64, 2);
    expect(statedChance(0.4)).toBeCloseTo(0.3, 2);
  });
});
