import { expect, it } from 'vitest';
import { requestLimitMs } from '../../src/app/study/engine/request-limit.ts';

it('gives a request the longest until something was seen, then a multiple of the slowest within bounds', () => {
  expect(requestLimitMs(null)).toBe(600_000);
  expect(requestLimitMs(100)).toBe(60_000);
  expect(requestLimitMs(5_000)).toBe(100_000);
  expect(requestLimitMs(60_000)).toBe(600_000);
});
