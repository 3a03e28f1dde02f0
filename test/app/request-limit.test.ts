import { expect, it } from 'vitest';
import { promptTimeoutMs } from '#app/traffic/prompt-windows.ts';

it('gives a request the longest until something was seen, then a multiple of the slowest within bounds', () => {
  expect(promptTimeoutMs(null)).toBe(600_000);
  expect(promptTimeoutMs(100)).toBe(60_000);
  expect(promptTimeoutMs(5_000)).toBe(100_000);
  expect(promptTimeoutMs(60_000)).toBe(600_000);
});
