import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import { reportLongLoads } from '#headless/long-loads.ts';
import type { TunerEvent } from '#tuner/seams.ts';

beforeEach(() => {
  vi.useFakeTimers();
});
afterEach(() => {
  vi.useRealTimers();
});

it('a load that takes long has a line every ten seconds, until the next event', () => {
  const lines: string[] = [];
  const passed: string[] = [];
  const onEvent = reportLongLoads(
    (line) => lines.push(line),
    ({ type }) => passed.push(type),
  );
  const measuring: TunerEvent = { type: 'measuring', trial: 1, level: { mode: 'concurrency', value: 1 } };
  onEvent({ type: 'applying', trial: 1 });
  vi.advanceTimersByTime(21_000);
  onEvent(measuring);
  vi.advanceTimersByTime(60_000);
  onEvent({ type: 'restoring' });
  vi.advanceTimersByTime(10_000);
  onEvent(measuring);
  expect(lines).toEqual([
    '    still loading after 10 s',
    '    still loading after 20 s',
    '    still putting the original config back after 10 s',
  ]);
  expect(passed).toEqual(['applying', 'measuring', 'restoring', 'measuring']);
  expect(vi.getTimerCount()).toBe(0);
});
