import { expect, it } from 'vitest';
import { firstTimeoutMs } from '#app/traffic/first-requests.ts';

it('leaves a study with little time most of it, whatever a model does with the requests before it', () => {
  const within = (timeBudgetSeconds?: number): number =>
    firstTimeoutMs({ limits: timeBudgetSeconds === undefined ? {} : { timeBudgetSeconds } });
  // A timer takes whole milliseconds, and a share of a series' time is not even.
  expect(within(89.9467)).toBe(8995);
  expect([within(), within(3600), within(60), within(10), within(1)]).toEqual([10_000, 10_000, 6000, 1000, 1000]);
});
