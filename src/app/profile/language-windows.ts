import type { WindowRule } from '../../profiler/level-options.ts';

/**
 * Windows for language models. Replies take seconds, so that a window of twenty latencies would take minutes: it holds ten replies, and lasts as
 * long as two. The warm-up waits for three rounds of replies, of which the first began all at once.
 */
export const languageWindows: Partial<WindowRule> = {
  minWindowMs: 1000,
  maxWindowMs: 60_000,
  minRequests: 10,
  minLatencies: 2,
  maxWarmUpMs: 120_000,
};
