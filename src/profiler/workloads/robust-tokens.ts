import type { Interval } from '#stats/interval.ts';
import { type RobustRule, robustFigure } from '#workload/robust-rule.ts';
import type { LatencySummary, LengthSummary } from '../figure-schemas.ts';
import type { TokenFigures } from '../token-figures.ts';
import { robustInterval, robustRate, robustSummary } from './robust-interval.ts';

/** Token figures of one workload; `perLevel`: its rate relative to the level of the study. */
export interface TokensUnder {
  readonly weight: number;
  readonly perLevel: number;
  readonly requests: number;
  readonly tokens: TokenFigures;
}

/**
 * Returns the token figures for all workloads: the rule applies to times as latencies, and to rates
 * as shares of what each workload asks for. Lengths and the share of cached tokens cover all
 * requests together. Needs at least one part.
 */
export function robustTokens(rule: RobustRule, parts: readonly TokensUnder[]): TokenFigures {
  const summary = (of: (tokens: TokenFigures) => LatencySummary): LatencySummary =>
    robustSummary(
      rule,
      parts.map(({ weight, tokens }) => ({ weight, of: of(tokens) })),
    );
  const time = (of: (tokens: TokenFigures) => Interval): Interval =>
    robustInterval(
      rule,
      'lower',
      parts.map(({ weight, tokens }) => ({ weight, of: of(tokens) })),
    );
  const rate = (of: (tokens: TokenFigures) => Interval): Interval =>
    robustRate(
      rule,
      parts.map(({ weight, perLevel, tokens }) => ({ weight, perLevel, of: of(tokens) })),
    );
  const [first] = parts as [TokensUnder];
  const isPaced = parts.every(({ tokens }) => tokens.scheduledTtftMs !== undefined);
  const cached = combineCachedShare(parts);
  return {
    ttftMs: summary(({ ttftMs }) => ttftMs),
    ...(isPaced && { scheduledTtftMs: summary(({ ttftMs, scheduledTtftMs = ttftMs }) => scheduledTtftMs) }),
    itlMs: summary(({ itlMs }) => itlMs),
    tpotMs: summary(({ tpotMs }) => tpotMs),
    budget: {
      ttftMs: time(({ budget }) => budget.ttftMs),
      itlMs: time(({ budget }) => budget.itlMs),
      tpotMs: time(({ budget }) => budget.tpotMs),
    },
    outputTokensPerSecond: rate((tokens) => tokens.outputTokensPerSecond),
    totalTokensPerSecond: rate((tokens) => tokens.totalTokensPerSecond),
    outputTokensPerSecondPerUser: robustFigure(
      rule,
      'higher',
      parts.map(({ weight, tokens }) => ({ weight, value: tokens.outputTokensPerSecondPerUser })),
    ),
    inputTokens: pooled(parts, ({ inputTokens }) => inputTokens),
    outputTokens: pooled(parts, ({ outputTokens }) => outputTokens),
    ...(cached !== null && { cachedShare: cached }),
    countedBy: first.tokens.countedBy,
    cutOff: parts.reduce((sum, { tokens }) => sum + tokens.cutOff, 0),
  };
}

/** The share over all input tokens; null if one server does not report it. */
function combineCachedShare(parts: readonly TokensUnder[]): number | null {
  let [cached, all] = [0, 0];
  for (const { requests, tokens } of parts) {
    if (tokens.cachedShare === undefined) return null;
    const inputTokens = requests * tokens.inputTokens.mean;
    cached += tokens.cachedShare * inputTokens;
    all += inputTokens;
  }
  return all > 0 ? cached / all : null;
}

function pooled(parts: readonly TokensUnder[], of: (tokens: TokenFigures) => LengthSummary): LengthSummary {
  const total = parts.reduce((sum, { requests }) => sum + requests, 0);
  const computeMean = (value: (lengths: LengthSummary) => number): number =>
    parts.reduce((sum, { requests, tokens }) => sum + (requests / Math.max(1, total)) * value(of(tokens)), 0);
  const mean = computeMean((lengths) => lengths.mean);
  return {
    mean,
    std: Math.sqrt(computeMean((lengths) => lengths.std ** 2 + (lengths.mean - mean) ** 2)),
    min: Math.min(...parts.map(({ tokens }) => of(tokens).min)),
    max: Math.max(...parts.map(({ tokens }) => of(tokens).max)),
  };
}
