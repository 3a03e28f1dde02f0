import type { LoadLevel } from '../../src/loadgen/types.ts';
import type { LatencySummary } from '../../src/profiler/figure-schemas.ts';
import type { Measurement } from '../../src/profiler/measurement.ts';
import type { TokenFigures } from '../../src/profiler/token-figures.ts';
import type { TokenTruth, Truth } from './truth.ts';

/** Duration of the windows of a measurement, in milliseconds. */
export const WINDOWS_MS = 1500;

/** The errors of one measurement: factors, and half widths of the intervals as shares. */
export interface MeasurementNoise {
  readonly rate: number;
  readonly latency: number;
  readonly rateWidth: number;
  readonly latencyWidth: number;
}

/** Returns the measurement of a truth with this disturbance. */
export function toMeasurement(truth: Truth, level: LoadLevel, disturbance: MeasurementNoise): Measurement {
  const throughput = truth.throughput * disturbance.rate;
  const { p99 } = truth.latencyMs;
  const tail = disturbance.latency;
  const split = truth.split ?? { inputUs: 0.1 * truth.computeUs, outputUs: 0.05 * truth.computeUs, overheadUs: 0 };
  const requests = Math.max(50, Math.round((throughput * WINDOWS_MS) / 1e3));
  return {
    level,
    throughput: spread(throughput, disturbance.rateWidth),
    latencyMs: summarize(truth.latencyMs, disturbance),
    budgetLatencyMs: { ...spread(p99 * tail, disturbance.latencyWidth), percentile: 99 },
    stable: true,
    windows: 3,
    durationMs: WINDOWS_MS,
    requests,
    sendRate: throughput,
    failures: [],
    errorRate: 0,
    server: {
      queueUs: truth.queueUs,
      computeInputUs: split.inputUs,
      computeInferUs: truth.computeUs - split.inputUs - split.outputUs,
      computeOutputUs: split.outputUs,
      overheadUs: split.overheadUs,
      requestUs: truth.queueUs + truth.computeUs + split.overheadUs,
      successCount: requests,
      inferenceCount: requests,
      executionCount: truth.batches.reduce((sum, { executions }) => sum + executions, 0),
      failCount: 0,
      cache: { hitCount: 0, hitUs: 0, missCount: 0, missUs: 0 },
      batches: truth.batches,
    },
    device: {},
    client: { cpuUsPerRequest: 20, eventLoopDelayMs: 0, bound: false },
    ...(truth.tokens && { tokens: toTokens(truth.tokens, disturbance) }),
    ...(truth.tokens?.goodput !== undefined && {
      goodput: spread(truth.tokens.goodput * disturbance.rate, disturbance.rateWidth),
    }),
  };
}

const spread = (value: number, width: number) => ({ value, low: value * (1 - width), high: value * (1 + width) });

/** A slowdown shifts the whole distribution; the tail has additional noise of its own. */
function summarize(
  { avg, p50, p90, p95, p99 }: Truth['latencyMs'],
  { rate, latency }: MeasurementNoise,
): LatencySummary {
  return {
    avg: avg / rate,
    p50: p50 / rate,
    p90: p90 / rate,
    p95: p95 * latency,
    p99: p99 * latency,
    max: 1.2 * p99 * latency,
    min: p50 / 2,
    std: p99 - p50,
  };
}

function toTokens(truth: TokenTruth, disturbance: MeasurementNoise): TokenFigures {
  const { rate, rateWidth, latencyWidth } = disturbance;
  const perSecond = (value: number) => spread(value * rate, rateWidth);
  const [ttftMs, itlMs, tpotMs] = [truth.ttftMs, truth.itlMs, truth.tpotMs].map((times) =>
    summarize(times, disturbance),
  ) as [LatencySummary, LatencySummary, LatencySummary];
  return {
    ttftMs,
    itlMs,
    tpotMs,
    budget: {
      ttftMs: spread(ttftMs.p99, latencyWidth),
      itlMs: spread(itlMs.p99, latencyWidth),
      tpotMs: spread(tpotMs.p99, latencyWidth),
    },
    outputTokensPerSecond: perSecond(truth.outputTokensPerSecond),
    totalTokensPerSecond: perSecond(truth.totalTokensPerSecond),
    outputTokensPerSecondPerUser: truth.outputTokensPerSecondPerUser * rate,
    ...(truth.goodput !== undefined && { goodput: perSecond(truth.goodput) }),
    inputTokens: truth.inputTokens,
    outputTokens: truth.outputTokens,
    cachedShare: truth.cachedShare,
    countedBy: 'usage',
    cutOff: 0,
  };
}
