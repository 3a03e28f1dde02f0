import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import { realClock } from '#base/clock.ts';
import { SilenceWatch } from '#loadgen/agents/silence-watch.ts';

const LIMIT_MS = 3000;
const CHECK_MS = 250;
let nowMs = 0;
const clock = { ...realClock, nowNs: () => nowMs * 1e6 };

beforeEach(() => {
  vi.useFakeTimers();
});

afterEach(() => {
  vi.useRealTimers();
});

/** Time passes; the process runs only at its end, for one check. */
function standStill(ms: number): void {
  nowMs += ms;
  vi.advanceTimersByTime(CHECK_MS);
}

function watch() {
  nowMs = 0;
  const silences: number[] = [];
  const watched = new SilenceWatch(
    clock,
    () => LIMIT_MS,
    () => silences.push(nowMs),
  );
  return { watched, silences };
}

it('ends a process that is stopped again and again while the other side says nothing', () => {
  const { watched, silences } = watch();
  while (nowMs < 10_000) standStill(1300);
  watched.stop();
  expect(silences[0]).toBeLessThanOrEqual(LIMIT_MS + 2 * 1300);
});

it('reads what arrived while the process stood still before it judges', () => {
  const { watched, silences } = watch();
  standStill(20_000);
  watched.heard();
  standStill(CHECK_MS);
  watched.stop();
  expect(silences).toEqual([]);
});

it('judges a process that runs by the limit', () => {
  const { watched, silences } = watch();
  while (nowMs < 4000) standStill(CHECK_MS);
  watched.stop();
  expect(silences[0]).toBe(LIMIT_MS + CHECK_MS);
});
