import type { TokenFigures } from '#profiler/token-figures.ts';

const interval = (value: number) => ({ value, low: value * 0.95, high: value * 1.05 });
const times = (ms: number) => ({
  avg: ms,
  p50: ms * 0.8,
  p90: ms,
  p95: ms,
  p99: ms * 2,
  max: ms * 2,
  min: ms / 2,
  std: 1,
});
const lengths = (mean: number) => ({ mean, std: 0, min: mean, max: mean });

/** The tokens of a model that gives every one of so many users a token each `itlMs`. */
export const tokensOf = (users: number, itlMs: number): TokenFigures => ({
  ttftMs: times(10 * users),
  itlMs: times(itlMs),
  tpotMs: times(itlMs),
  budget: { ttftMs: interval(20 * users), itlMs: interval(2 * itlMs), tpotMs: interval(2 * itlMs) },
  outputTokensPerSecond: interval((users * 1000) / itlMs),
  totalTokensPerSecond: interval((3 * users * 1000) / itlMs),
  outputTokensPerSecondPerUser: 1000 / itlMs,
  goodput: interval(users / 10),
  inputTokens: lengths(256),
  outputTokens: lengths(128),
  cachedShare: 0.25,
  countedBy: 'usage',
  cutOff: 3,
});
