import type { LoadLevel } from '../loadgen/types.ts';
import type { Measurement } from '../profiler/measurement.ts';
import type { Truth } from './truth.ts';

/** Duration of the windows of a measurement, in milliseconds. */
export const WINDOWS_MS = 1500;

/** What is off about one measurement: factors, and half widths of the intervals as shares. */
export interface Disturbance {
  readonly rate: number;
  readonly latency: number;
  readonly rateWidth: number;
  readonly latencyWidth: number;
}

/** Returns the measurement of a truth with this disturbance. */
export function measurementOf(truth: Truth, level: LoadLevel, disturbance: Disturbance): Measurement {
  const throughput = truth.throughput * disturbance.rate;
  const { avg, p50, p90, p95, p99 } = truth.latencyMs;
  // A slowdown shifts the whole distribution; the tail has noise of its own besides.
  const [middle, tail] = [1 / disturbance.rate, disturbance.latency];
  const split = truth.split ?? { inputUs: 0.1 * truth.computeUs, outputUs: 0.05 * truth.computeUs, overheadUs: 0 };
  const requests = Math.max(50, Math.round((throughput * WINDOWS_MS) / 1e3));
  const spread = (value: number, width: number) => ({ value, low: value * (1 - width), high: value * (1 + width) });
  return {
    level,
    throughput: spread(throughput, disturbance.rateWidth),
    latencyMs: {
      avg: avg * middle,
      p50: p50 * middle,
      p90: p90 * middle,
      p95: p95 * tail,
      p99: p99 * tail,
      max: 1.2 * p99 * tail,
      min: p50 / 2,
      std: p99 - p50,
    },
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
  };
}
