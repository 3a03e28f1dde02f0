import type { LatencySummary } from '#profiler/figure-schemas.ts';
import type { Measurement } from '#profiler/measurement.ts';
import { type Interval, timesInterval } from '#stats/interval.ts';

const times = ['ttft', 'itl', 'tpot'] as const;
const statistics = ['avg', 'p50', 'p90', 'p95', 'p99'] as const;
const rates = ['output-token-throughput', 'total-token-throughput', 'output-tokens-per-user'] as const;

type TokenTime = (typeof times)[number];
type Statistic = (typeof statistics)[number];
export type TokenRate = (typeof rates)[number];

/**
 * Figures of a language model by the names of the study's metrics; a time without a statistic is
 * that of the budget's percentile. Milliseconds and rates per second.
 */
export type TokenFigureName = TokenTime | `${TokenTime}-${Statistic}` | TokenRate;

export const tokenFigureNames: readonly TokenFigureName[] = [
  ...times,
  ...times.flatMap((time) => statistics.map((statistic) => `${time}-${statistic}` as const)),
  ...rates,
];

const rateNames: ReadonlySet<string> = new Set(rates);

/** True if more of the figure is better: it falls if steps take longer. */
export const isTokenRate = (name: string): name is TokenRate => rateNames.has(name);

/** Returns the time and the statistic of a figure; null means the budget's percentile. */
export function toTime(name: Exclude<TokenFigureName, TokenRate>): {
  readonly time: TokenTime;
  readonly statistic: Statistic | null;
} {
  const [time, statistic] = name.split('-') as [TokenTime, Statistic | undefined];
  return { time, statistic: statistic ?? null };
}

/** The part of a measurement that figures are read from. */
export type TokensRead = Pick<Measurement, 'tokens'>;

/**
 * Returns a measured figure with its 95 % interval, if the measurement has one. A high percentile
 * without one has the interval of the budgeted percentile, which is about as wide. undefined if the
 * measurement lacks the figure.
 */
export function readTokenFigure(name: TokenFigureName, { tokens }: TokensRead): Interval | undefined {
  if (!tokens) return undefined;
  switch (name) {
    case 'output-token-throughput':
      return tokens.outputTokensPerSecond;
    case 'total-token-throughput':
      return tokens.totalTokensPerSecond;
    case 'output-tokens-per-user':
      return exactly(tokens.outputTokensPerSecondPerUser);
  }
  const { time, statistic } = toTime(name);
  if (statistic === null) return tokens.budget[budgets[time]];
  const value = summarize(tokens, time)[statistic];
  const budget = tokens.budget[budgets[time]];
  return isTail(statistic) && budget.value > 0 ? timesInterval(budget, value / budget.value) : exactly(value);
}

const isTail = (statistic: Statistic): boolean => statistic !== 'avg' && statistic !== 'p50';

const budgets = { ttft: 'ttftMs', itl: 'itlMs', tpot: 'tpotMs' } as const;

/** Returns the latencies of a time; TTFT as users see it, in an open loop from the time due. */
function summarize(tokens: NonNullable<Measurement['tokens']>, time: TokenTime): LatencySummary {
  if (time === 'ttft') return tokens.scheduledTtftMs ?? tokens.ttftMs;
  return time === 'itl' ? tokens.itlMs : tokens.tpotMs;
}

const exactly = (value: number): Interval => ({ value, low: value, high: value });
