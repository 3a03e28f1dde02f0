import type { TokenCounter } from '../loadgen/token-reply.ts';
import { allTokens, type LengthSums, type TokenTally } from '../loadgen/token-tally.ts';
import type { LatencyHistogram } from '../stats/histogram.ts';
import type { Interval } from '../stats/interval.ts';
import { quantileInterval } from '../stats/quantile-interval.ts';
import { latencySummary } from './latency-summary.ts';
import type { LevelOptions } from './level-options.ts';
import type { Measurement } from './measurement.ts';
import type { LengthSummary, TokenFigures } from './token-figures.ts';
import { type CountedBatch, inMs, rateOf } from './windows/figures.ts';

type TokensAsked = Pick<LevelOptions, 'level' | 'stability' | 'percentile' | 'limits'>;

/** Returns what the counted batches say of a language model; undefined where none of its replies came. `failures`: of the same requests. */
export function tokensOf(
  batches: readonly CountedBatch[],
  options: TokensAsked,
  failures: Measurement['failures'],
): TokenFigures | undefined {
  const whole = allTokens(batches);
  if (whole === undefined) return undefined;
  const isPaced = whole.ttftFromDue.count > 0;
  const perRequest = (tally: TokenTally): number => tally.output.sum / tally.output.count;
  const rate = (countOf: (tally: TokenTally) => number, most: number): Interval =>
    rateOf(batches, ({ tokens }) => (tokens ? countOf(tokens) : 0), options, most);
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
    outputTokensPerSecond: rate(({ output }) => output.sum, perRequest(whole)),
    totalTokensPerSecond: rate(
      ({ input, output }) => input.sum + output.sum,
      perRequest(whole) + whole.input.sum / whole.input.count,
    ),
    outputTokensPerSecondPerUser: whole.users > 0 ? whole.userRates / whole.users : 0,
    ...(options.limits && { goodput: rate(({ good }) => good, 1) }),
    inputTokens: lengthSummary(whole.input),
    outputTokens: lengthSummary(whole.output),
    ...(whole.cachedAmong > 0 && { cachedShare: whole.cachedTokens / whole.cachedAmong }),
    countedBy: counterOf(whole),
    cutOff: failures.find(({ kind }) => kind === 'cut-off')?.count ?? 0,
  };
}

function lengthSummary({ count, sum, squares, min, max }: LengthSums): LengthSummary {
  const mean = sum / count;
  const variance = count > 1 ? Math.max(0, (squares - count * mean * mean) / (count - 1)) : 0;
  return { mean, std: Math.sqrt(variance), min, max };
}

/** The least exact of those who counted any reply. */
const counterOf = ({ countedBy: { pieces, tokenizer } }: TokenTally): TokenCounter =>
  pieces > 0 ? 'pieces' : tokenizer > 0 ? 'tokenizer' : 'usage';
