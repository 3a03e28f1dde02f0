import type { WindowRule } from '../../profiler/level-options.ts';

/**
 * Windows for language models. Replies take seconds, so a window of twenty latencies would take minutes. Instead, a window holds ten replies and
 * lasts as long as two. The warm-up waits for three rounds of replies, because those of the first all began at once.
 */
export const languageWindows: Partial<WindowRule> = {
  minWindowMs: 1000,
  maxWindowMs: 60_000,
  minRequests: 10,
  minLatencies: 2,
  maxWarmUpMs: 120_000,
};
