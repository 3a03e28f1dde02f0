import { formatFigure, formatMs } from '#base/format.ts';
import type { LatencySummary, LengthSummary } from '#profiler/figure-schemas.ts';
import type { LevelReport } from '#profiler/level-report.ts';
import type { Measurement } from '#profiler/measurement.ts';
import type { TokenFigures } from '#profiler/token-figures.ts';
import type { Interval } from '#stats/interval.ts';

const counters: Readonly<Record<TokenFigures['countedBy'], string>> = {
  usage: "counted by the server's usage figures",
  tokenizer: 'counted by a tokenizer',
  pieces: 'NOT COUNTED: each piece of a stream is taken for one',
};

/** Returns the token figures of a language model at a level; no lines for other models. */
export function tokenLines({ measurement }: LevelReport): readonly string[] {
  const { tokens, budgetLatencyMs, client } = measurement;
  if (tokens === undefined) return [];
  const { budget, scheduledTtftMs } = tokens;
  const name = `p${budgetLatencyMs.percentile}`;
  const time = (label: string, summary: LatencySummary, interval: Interval): string =>
    `    ${label}: ${summaryText(summary)}; ${name} ${formatMs(interval.value)}, 95 % interval ${formatFigure(interval.low)} to ${formatMs(interval.high)}`;
  return [
    `  Tokens (${counters[tokens.countedBy]}): `,
    scheduledTtftMs
      ? `    TTFT from the sending: ${summaryText(tokens.ttftMs)}, p99 ${formatMs(tokens.ttftMs.p99)}`
      : time('TTFT', tokens.ttftMs, budget.ttftMs),
    ...(scheduledTtftMs ? [time('TTFT from the time due', scheduledTtftMs, budget.ttftMs)] : []),
    ...(tokens.itlMs.max > 0 ? [time('ITL', tokens.itlMs, budget.itlMs)] : []),
    ...(tokens.tpotMs.max > 0 ? [time('TPOT', tokens.tpotMs, budget.tpotMs)] : []),
    `    Output: ${rateText(tokens.outputTokensPerSecond)}${userText(tokens)}`,
    `    Input and output: ${rateText(tokens.totalTokensPerSecond)}`,
    `    Lengths: ${lengthText(tokens.inputTokens)} in, ${lengthText(tokens.outputTokens)} out${cachedText(tokens)}`,
    ...(tokens.cutOff > 0 ? [`    Cut off: ${tokens.cutOff} replies, which count as failed`] : []),
    `    Client: ${formatFigure(client.cpuUsPerRequest / Math.max(tokens.outputTokens.mean, 1))} usec of CPU a token${pausesText(measurement)}`,
    '',
  ];
}

/** Returns how much the load generator's own pauses distorted the tail. */
const pausesText = ({ client: { itlShiftMs }, budgetLatencyMs: { percentile } }: Measurement): string =>
  itlShiftMs === undefined ? '' : `; what held it up moved ITL p${percentile} by ${formatMs(itlShiftMs)} at most`;

const summaryText = ({ avg, p50, p90 }: LatencySummary): string =>
  `avg ${formatMs(avg)}, p50 ${formatMs(p50)}, p90 ${formatMs(p90)}`;

const intervalText = ({ value, low, high }: Interval): string =>
  `${formatFigure(value)} (${formatFigure(low)} to ${formatFigure(high)})`;

const userText = ({ outputTokensPerSecondPerUser: rate }: TokenFigures): string =>
  rate > 0 ? `; ${formatFigure(rate)} tokens/s per user` : '';

const rateText = (interval: Interval): string => `${intervalText(interval)} tokens/s`;

const lengthText = ({ mean, min, max }: LengthSummary): string =>
  min === max ? formatFigure(mean) : `${formatFigure(mean)} (${min} to ${max})`;

const cachedText = ({ cachedShare }: TokenFigures): string =>
  cachedShare === undefined ? '' : `; ${formatFigure(100 * cachedShare)} % of the input from the server's prefix cache`;
