import { expect, it } from 'vitest';
import { allowance } from '#cli/options/allowance.ts';

it('an allowed error is for all outputs or by output, and the last one counts', () => {
  expect(allowance('0.1', undefined)).toBe(0.1);
  expect(allowance('0.001', 0.1)).toBe(0.001);
  expect(allowance('boxes=1, scores=0.01', 0.1)).toEqual({ '*': 0.1, boxes: 1, scores: 0.01 });
  expect(allowance('boxes=3', { boxes: 1, scores: 2 })).toEqual({ boxes: 3, scores: 2 });
  expect(allowance('0.5', { boxes: 1 })).toEqual({ '*': 0.5, boxes: 1 });
  expect(() => allowance('boxes=1,boxes=2', undefined)).toThrow(/twice/);
  expect(() => allowance('=1', undefined)).toThrow(/none/);
  expect(() => allowance('boxes=-1', undefined)).toThrow(/-1/);
});
