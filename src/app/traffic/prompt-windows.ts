import { shorterWindows } from '#adapter/triton/profile.ts';
import { MS_PER_S } from '#base/units.ts';
import { defaultWindowRule, type WindowRule } from '#profiler/level-options.ts';
import type { MeasurePurpose } from '#tuner/adapter.ts';

/**
 * Windows for language models. Replies take seconds, so a window of twenty latencies would take
 * minutes. Instead, a window holds ten replies and lasts as long as two. The warm-up waits for
 * three rounds of replies, because those of the first all began at once.
 */
export const promptWindows: Partial<WindowRule> = {
  minWindowMs: 1000,
  maxWindowMs: 60_000,
  minRequests: 10,
  minLatencies: 2,
  maxWarmUpMs: 120_000,
};

/** A reply of thousands of tokens takes minutes. */
const MAX_TIMEOUT_MS = 600 * MS_PER_S;
const MIN_TIMEOUT_MS = 60 * MS_PER_S;
/**
 * With more users a reply takes longer, but at no level worth measuring by more than this factor.
 */
const TIMES_SLOWEST = 20;

/**
 * Returns the time limit of a prompt. Without one by the slowest reply so far, an engine that
 * accepts a setting and then never answers would delay the study by ten minutes (Dynamo's mocker
 * does so for prompts that fit in no step).
 */
export const promptTimeoutMs = (slowestMs: number | null): number =>
  slowestMs === null ? MAX_TIMEOUT_MS : Math.min(MAX_TIMEOUT_MS, Math.max(MIN_TIMEOUT_MS, TIMES_SLOWEST * slowestMs));

/** Measurements for which a time budget has room: the original, a few candidates, and a final. */
const MIN_MEASUREMENTS = 8;

/**
 * Returns shorter windows for a trial, which has several levels and whose best result the final
 * measures again, and for a study whose time budget would hold only a few measurements: replies
 * take seconds.
 */
export function promptWindowsFor(
  purpose: MeasurePurpose | undefined,
  timeBudgetSeconds: number | undefined,
): Partial<WindowRule> {
  const maxWindows = purpose === undefined ? 6 : (shorterWindows[purpose].maxWindows ?? 3);
  const { maxWindowMs, minWindowMs, maxWarmUpMs } = { ...defaultWindowRule, ...promptWindows };
  const shareMs = ((timeBudgetSeconds ?? Number.POSITIVE_INFINITY) * MS_PER_S) / MIN_MEASUREMENTS;
  const within = (mostMs: number, fittingMs: number): number => Math.min(mostMs, Math.max(minWindowMs, fittingMs));
  return {
    ...promptWindows,
    maxVoidWindows: 1,
    maxWindows,
    maxWindowMs: within(maxWindowMs, shareMs / maxWindows),
    maxWarmUpMs: within(maxWarmUpMs, shareMs / 2),
  };
}
