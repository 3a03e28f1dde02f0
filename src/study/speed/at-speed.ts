import type { LoadLevel } from '#loadgen/types.ts';
import type { ClassFigures, Measurement } from '#profiler/measurement.ts';
import type { ServerBreakdown } from '#profiler/server-figures.ts';
import type { TokenFigures } from '#profiler/token-figures.ts';
import type { Interval } from '#stats/interval.ts';

/** Speeds within this difference of logarithms count as equal: figures are no more precise. */
const ALIKE = 0.02;

/**
 * Scales a measurement made at the speed `interval` to another speed: all times by the ratio of the
 * two, in a closed loop the throughput too. Intervals widen by the uncertainty of the speed.
 * Returns the measurement itself where the speeds are equal.
 */
export function atSpeed(measurement: Measurement, interval: Interval, speed: number): Measurement {
  const factor = interval.value / speed;
  if (Math.abs(Math.log(factor)) < ALIKE) return measurement;
  const logHalfWidth = Math.log(interval.high / interval.low) / 2;
  const { server, composing, fronts, latencyPercentilesMs, clientTimes, tokens, classes, workloads } = measurement;
  return {
    ...measurement,
    ...seenAt(measurement, factor, logHalfWidth),
    ...(classes && { classes: classes.map((each) => classAt(each, measurement.level, factor, logHalfWidth)) }),
    ...(latencyPercentilesMs && { latencyPercentilesMs: mapped(latencyPercentilesMs, factor) }),
    ...(clientTimes && { clientTimes: { ...mapped(clientTimes, factor), requests: clientTimes.requests } }),
    ...(tokens && { tokens: tokensAt(tokens, measurement.level, factor, logHalfWidth) }),
    ...(workloads && { workloads: workloads.map((each) => ({ ...each, ...atSpeed(each, interval, speed) })) }),
    server: server && served(server, factor),
    ...(composing && { composing: composing.map((each) => served(each, factor)) }),
    ...(fronts && {
      fronts: fronts.map((front) => ({
        ...front,
        ...seenAt(front, factor, logHalfWidth),
        server: front.server && served(front.server, factor),
        ...(front.composing && { composing: front.composing.map((each) => served(each, factor)) }),
      })),
    }),
  };
}

type Seen = Pick<Measurement, 'level' | 'throughput' | 'goodput' | 'latencyMs' | 'budgetLatencyMs'>;

/** The figures that clients see; at a rate they get the rate that they ask for. */
function seenAt(
  { level, throughput, goodput, latencyMs, budgetLatencyMs }: Seen,
  factor: number,
  logHalfWidth: number,
) {
  const rate = rateAt(level, factor, logHalfWidth);
  return {
    throughput: rate(throughput),
    ...(goodput && { goodput: rate(goodput) }),
    latencyMs: mapped(latencyMs, factor),
    budgetLatencyMs: { ...budgetLatencyMs, ...scaled(budgetLatencyMs, factor, logHalfWidth) },
  };
}

const rateAt =
  ({ mode }: LoadLevel, factor: number, logHalfWidth: number) =>
  (interval: Interval): Interval =>
    mode === 'concurrency' ? scaled(interval, 1 / factor, logHalfWidth) : interval;

/** The figures of a request class at another speed. */
function classAt(each: ClassFigures, level: LoadLevel, factor: number, logHalfWidth: number): ClassFigures {
  const { throughput, goodput, latencyMs, budgetLatencyMs } = each;
  const rate = rateAt(level, factor, logHalfWidth);
  return {
    ...each,
    throughput: rate(throughput),
    ...(goodput && { goodput: rate(goodput) }),
    latencyMs: mapped(latencyMs, factor),
    ...(budgetLatencyMs && {
      budgetLatencyMs: { ...budgetLatencyMs, ...scaled(budgetLatencyMs, factor, logHalfWidth) },
    }),
  };
}

/**
 * The figures of a language model's tokens at another speed. At a request rate users get as many
 * tokens, but each at another speed.
 */
function tokensAt(tokens: TokenFigures, level: LoadLevel, factor: number, logHalfWidth: number): TokenFigures {
  const { ttftMs, scheduledTtftMs, itlMs, tpotMs, budget, goodput } = tokens;
  const rate = rateAt(level, factor, logHalfWidth);
  const time = (interval: Interval): Interval => scaled(interval, factor, logHalfWidth);
  return {
    ...tokens,
    ttftMs: mapped(ttftMs, factor),
    ...(scheduledTtftMs && { scheduledTtftMs: mapped(scheduledTtftMs, factor) }),
    itlMs: mapped(itlMs, factor),
    tpotMs: mapped(tpotMs, factor),
    budget: { ttftMs: time(budget.ttftMs), itlMs: time(budget.itlMs), tpotMs: time(budget.tpotMs) },
    outputTokensPerSecond: rate(tokens.outputTokensPerSecond),
    totalTokensPerSecond: rate(tokens.totalTokensPerSecond),
    outputTokensPerSecondPerUser: tokens.outputTokensPerSecondPerUser / factor,
    ...(goodput && { goodput: rate(goodput) }),
  };
}

const served = <B extends ServerBreakdown>(server: B, factor: number): B => ({
  ...server,
  queueUs: server.queueUs * factor,
  computeInputUs: server.computeInputUs * factor,
  computeInferUs: server.computeInferUs * factor,
  computeOutputUs: server.computeOutputUs * factor,
  overheadUs: server.overheadUs * factor,
  requestUs: server.requestUs * factor,
  batches: server.batches.map((batch) => ({ ...batch, meanExecutionUs: batch.meanExecutionUs * factor })),
});

const mapped = <T extends object>(figures: T, factor: number): T =>
  Object.fromEntries(Object.entries(figures).map(([name, value]) => [name, (value as number) * factor])) as T;

/** Scales an interval; errors add in quadrature, as logarithms. */
function scaled({ value, low, high }: Interval, factor: number, logHalfWidth: number): Interval {
  const wider = (bound: number): number =>
    bound > 0 && value > 0 ? Math.exp(Math.hypot(Math.log(bound / value), logHalfWidth)) : 1;
  return {
    value: value * factor,
    low: low > 0 ? (value * factor) / wider(low) : 0,
    high: value * factor * wider(high),
  };
}
