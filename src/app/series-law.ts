import { mean, median } from 'simple-statistics';
import { msToNs, nsToMs } from '#base/units.ts';
import { closedTraffic } from '#perfmodel/continuous/simulate-engine.ts';
import { type EngineLaw, lawFigures, lawPriors, toLaw } from '#perfmodel/continuous/step-law-parameters.ts';
import type { SeriesRow, TokenSeries } from '#queueing/calibration/token-series.ts';
import type { SequenceLengths } from '#queueing/continuous/lengths.ts';
import type { ContinuousPolicy } from '#queueing/continuous/policy.ts';
import { simulateContinuous } from '#queueing/continuous/simulate-continuous.ts';
import { leastSquares, type ResidualBlock } from '#stats/least-squares.ts';

/** The law of an engine, from some rows of a series. */
export interface SeriesLaw {
  readonly law: EngineLaw;
  readonly policy: ContinuousPolicy;
  /** Mean square of the residuals: 1 if they are as large as expected. */
  readonly misfit: number;
  /** Returns the row at another concurrency. */
  predict(concurrency: number): SeriesRow;
}

/** A row of a series beside its prediction. */
export interface PredictedSeriesRow {
  readonly row: SeriesRow;
  readonly predicted: SeriesRow;
  readonly isUsed: boolean;
}

export interface HeldOutSeries {
  readonly fitted: SeriesLaw;
  /** By rising concurrency. */
  readonly rows: readonly PredictedSeriesRow[];
  /** Median relative error of the rows that were not used; null when all were. */
  readonly medianMiss: { readonly ttft: number; readonly tpot: number } | null;
}

/**
 * What tables of this kind leave out, as InferenceMAX measures its series (its page "Benchmark
 * Client Configuration"): ten requests for each of the concurrency, all of the first at once, means
 * over all of them, so that TTFT grows with the concurrency by the wait in the first round alone;
 * random lengths from 80 to 100 % of what is stated; 8,192 tokens a step, no prefix cache. Three,
 * five and endless rounds, fixed lengths, 2,048 and 16,384 tokens predict rows worse that were not
 * fitted, in an eighth of AIConfigurator's series.
 */
const ROUNDS = 10;
const MIN_LENGTH_SHARE = 0.8;
const MAX_STEP_TOKENS = 8192;
const MIN_REQUESTS = 30;
/** Above any table's concurrency: an engine of a published benchmark has room for all of it. */
const MAX_SEQUENCES = 4096;
/** Standard deviation of the logarithm that the form of the law leaves. */
const SD = { tpot: 0.04, ttft: 0.1 };
/** The residual of a row that is impossible by the law, in standard deviations. */
const IMPOSSIBLE = 10;
/** The mean square from which on the wait for the KV cache is looked at as an explanation. */
const POOR = 2;
const SEED = 1;

/** Fits the law to the rows at these concurrencies, and predicts all rows. */
export function predictSeries(series: TokenSeries, levels: readonly number[]): HeldOutSeries {
  const used = series.rows.filter(({ concurrency }) => levels.includes(concurrency));
  const fitted = fitSeries({ ...series, rows: used });
  const rows = series.rows
    .map((row) => ({ row, predicted: fitted.predict(row.concurrency), isUsed: used.includes(row) }))
    .sort((a, b) => a.row.concurrency - b.row.concurrency);
  const misses = rows.filter(({ isUsed }) => !isUsed);
  const computeMiss = (figure: 'ttftMs' | 'tpotMs'): number =>
    median(misses.map(({ row, predicted }) => Math.abs(predicted[figure] / row[figure] - 1)));
  return {
    fitted,
    rows,
    medianMiss: misses.length === 0 ? null : { ttft: computeMiss('ttftMs'), tpot: computeMiss('tpotMs') },
  };
}

/**
 * Fits the law of an engine's steps to all rows, at least one. Where they fit badly, a KV cache
 * that has no place for all sequences of the last row is tried.
 */
function fitSeries(series: TokenSeries): SeriesLaw {
  const free = fitWith(series, null);
  const limit = free.misfit > POOR ? computeKvCacheTokens(series) : null;
  const limited = limit === null ? free : fitWith(series, limit);
  return limited.misfit < free.misfit ? limited : free;
}

function fitWith({ inputTokens, outputTokens, rows }: TokenSeries, kvCacheTokens: number | null): SeriesLaw {
  const lengths = { input: spreadBelow(inputTokens), output: spreadBelow(outputTokens), cachedShare: 0 };
  const policy: ContinuousPolicy = {
    maxSequences: MAX_SEQUENCES,
    maxStepTokens: MAX_STEP_TOKENS,
    chunksPrefill: true,
    kvCacheTokens,
    cachesPrefixes: false,
  };
  const lowest = rows.reduce((least, row) => (row.concurrency < least.concurrency ? row : least));
  const priors = lawPriors({
    tpotNs: msToNs(lowest.tpotMs),
    ttftNs: msToNs(lowest.ttftMs),
    promptTokens: inputTokens,
    contextTokens: inputTokens + outputTokens / 2,
  });
  const blocks = rows.map(
    (row): ResidualBlock => ({
      sums: lawFigures.map((_, parameter) => [{ parameter, weight: 1 }]),
      residuals: (logs) => {
        const { ttftMs, tpotMs } = simulateRow(policy, toLaw(logs, false), lengths, row.concurrency);
        const residual = (simulated: number, measured: number, sd: number): number =>
          simulated > 0 ? Math.log(simulated / measured) / sd : IMPOSSIBLE;
        return [residual(tpotMs, row.tpotMs, SD.tpot), residual(ttftMs, row.ttftMs, SD.ttft)];
      },
    }),
  );
  const { parameters, misfit } = leastSquares(blocks, { priors, step: 0.1, mostChange: 1.2, iterations: 10 });
  const law = toLaw(parameters, false);
  return { law, policy, misfit, predict: (concurrency) => simulateRow(policy, law, lengths, concurrency) };
}

const spreadBelow = (tokens: number): SequenceLengths['input'] => {
  const range = (1 - MIN_LENGTH_SHARE) * tokens;
  return { mean: tokens - range / 2, std: range / Math.sqrt(12), min: tokens - range, max: tokens };
};

function simulateRow(
  policy: ContinuousPolicy,
  { roundTripNs, isStatic: _, ...law }: EngineLaw,
  lengths: SequenceLengths,
  concurrency: number,
): SeriesRow {
  const { ttftNs, tpotNs } = simulateContinuous(policy, law, closedTraffic(concurrency, roundTripNs), lengths, {
    warmUpRequests: 0,
    requests: Math.max(MIN_REQUESTS, ROUNDS * concurrency),
    seed: SEED,
  });
  // A request of one token has no time per output token.
  const gaps = tpotNs.filter((ns) => ns > 0);
  return { concurrency, ttftMs: nsToMs(mean([...ttftNs])), tpotMs: gaps.length === 0 ? 0 : nsToMs(mean(gaps)) };
}

/**
 * Returns the tokens of the sequences that run at the highest concurrency: by Little's law, those
 * that wait for their first token have no place. null if not even one sequence had.
 */
function computeKvCacheTokens({ inputTokens, outputTokens, rows }: TokenSeries): number | null {
  const { concurrency, ttftMs, tpotMs } = rows.reduce((most, row) => (row.concurrency > most.concurrency ? row : most));
  const decodingMs = outputTokens * tpotMs;
  const running = (concurrency * decodingMs) / (ttftMs + decodingMs);
  const tokens = Math.ceil(running * (inputTokens + outputTokens / 2));
  return tokens > inputTokens + outputTokens ? tokens : null;
}
