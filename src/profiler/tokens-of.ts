import type { TokenCounter } from '#loadgen/token-reply.ts';
import { allTokens, type LengthSums, type TokenTally } from '#loadgen/token-tally.ts';
import { meanInterval } from '#stats/batch-means.ts';
import type { LatencyHistogram } from '#stats/histogram.ts';
import { type Interval, productOfIntervals } from '#stats/interval.ts';
import { quantileInterval } from '#stats/quantile-interval.ts';
import type { LengthSummary } from './figure-schemas.ts';
import { latencySummary } from './latency-summary.ts';
import type { LevelOptions } from './level-options.ts';
import type { TokenFigures } from './token-figures.ts';
import { computeRate, inMs, writable } from './windows/figures.ts';
import type { WindowsOutcome } from './windows/outcome.ts';

type TokensAsked = Pick<LevelOptions, 'level' | 'stability' | 'percentile'>;

/**
 * Returns the figures of a language model from the counted batches; undefined if it sent no
 * replies. `goodput` must be of the same requests. In an open loop tokens per second are the
 * requests per second times their mean tokens, so that random arrivals affect neither.
 */
export function findTokens(
  { batches, failures, rate: requestRate }: Pick<WindowsOutcome, 'batches' | 'failures' | 'rate'>,
  options: TokensAsked,
  goodput: Interval | undefined,
): TokenFigures | undefined {
  const whole = allTokens(batches);
  if (whole === undefined) return undefined;
  const isPaced = whole.ttftFromDue.count > 0;
  const perSecond = (tokensIn: (tally: TokenTally) => number): Interval => {
    const totals = batches.map(({ tokens }) => (tokens ? tokensIn(tokens) : 0));
    if (!isPaced) return computeRate(batches, (batch) => (batch.tokens ? tokensIn(batch.tokens) : 0), options);
    const replies = batches.map(({ tokens }) => tokens?.output.count ?? 0);
    return productOfIntervals(requestRate, writable(meanInterval(totals, replies)));
  };
  const percentile = (of: (tally: TokenTally) => LatencyHistogram): Interval =>
    inMs(
      quantileInterval(
        batches.flatMap(({ tokens }) => (tokens ? of(tokens) : [])),
        of(whole),
        options.percentile / 100,
      ),
    );
  return {
    ttftMs: latencySummary(whole.ttft),
    ...(isPaced && { scheduledTtftMs: latencySummary(whole.ttftFromDue) }),
    itlMs: latencySummary(whole.itl),
    tpotMs: latencySummary(whole.tpot),
    budget: {
      ttftMs: percentile(({ ttft, ttftFromDue }) => (isPaced ? ttftFromDue : ttft)),
      itlMs: percentile(({ itl }) => itl),
      tpotMs: percentile(({ tpot }) => tpot),
    },
    outputTokensPerSecond: perSecond(({ output }) => output.sum),
    totalTokensPerSecond: perSecond(({ input, output }) => input.sum + output.sum),
    outputTokensPerSecondPerUser: whole.users > 0 ? whole.userRates / whole.users : 0,
    ...(goodput && { goodput }),
    inputTokens: lengthSummary(whole.input),
    outputTokens: lengthSummary(whole.output),
    ...(whole.cachedAmong > 0 && { cachedShare: whole.cachedTokens / whole.cachedAmong }),
    countedBy: createCounter(whole),
    cutOff: failures.find(({ kind }) => kind === 'cut-off')?.count ?? 0,
  };
}

function lengthSummary({ count, sum, squares, min, max }: LengthSums): LengthSummary {
  const mean = sum / count;
  const variance = count > 1 ? Math.max(0, (squares - count * mean * mean) / (count - 1)) : 0;
  return { mean, std: Math.sqrt(variance), min, max };
}

/** Returns the least exact counter that counted any reply. */
const createCounter = ({ countedBy: { pieces, tokenizer } }: TokenTally): TokenCounter =>
  pieces > 0 ? 'pieces' : tokenizer > 0 ? 'tokenizer' : 'usage';
