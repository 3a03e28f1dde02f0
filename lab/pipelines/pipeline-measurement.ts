import { type Random, standardNormal } from '../../src/base/random.ts';
import type { LoadLevel } from '../../src/loadgen/types.ts';
import type { FrontMeasurement, Measurement } from '../../src/profiler/measurement.ts';
import type { ServerBreakdown } from '../../src/profiler/server-figures.ts';
import { frontLevels, type Topology } from '../../src/space/topology.ts';
import { type MeasurementNoise, toMeasurement } from '../problems/measurement-of.ts';
import type { FrontTruth, StageTruth, Truth } from '../problems/truth.ts';

/**
 * Relative noise of the mean execution time of a batch size: the minimum, and that of a single
 * execution, which falls with their number.
 */
const EXECUTION_NOISE = { least: 0.015, single: 0.1 };

/**
 * Returns the measurement of a pipeline: of its front or fronts, with the statistics of each stage.
 */
export function pipelineMeasurement(
  truth: Truth,
  level: LoadLevel,
  topology: Topology,
  disturbance: MeasurementNoise,
  random: Random,
): Measurement {
  const stages = (truth.stages ?? []).map((stage) => ({
    model: stage.model,
    ...toBreakdown(stage, disturbance, random),
  }));
  const composing = (front: string) =>
    stages.filter(({ model }) => model !== front).map((stage) => ({ ...stage, version: '1' }));
  const whole = toMeasurement(truth, level, disturbance);
  const { fronts } = truth;
  if (!fronts) {
    const front = topology.fronts[0]?.model ?? '';
    const stage = stages.find(({ model }) => model === front);
    const server = stage ?? ensembleBreakdown(truth);
    return { ...whole, requests: truth.requests ?? whole.requests, server, composing: composing(front) };
  }
  const levels = frontLevels(topology, level);
  return {
    ...whole,
    server: null,
    fronts: fronts.map((front, index): FrontMeasurement => {
      const at = levels[index] ?? level;
      const { latencyMs, budgetLatencyMs, throughput, stable, sendRate, failures, errorRate } = toMeasurement(
        { ...truth, ...front },
        at,
        disturbance,
      );
      return {
        model: front.model,
        level: at,
        latencyMs,
        budgetLatencyMs,
        throughput,
        stable,
        sendRate,
        failures,
        errorRate,
        requests: front.requests,
        durationMs: whole.durationMs,
        server: stages.find(({ model }) => model === front.model) ?? ensembleBreakdown(front),
      };
    }),
  };
}

/**
 * Returns the server's statistics of one stage. Its queue and executions slow down with the whole.
 */
function toBreakdown(
  { requests, queueUs, computeUs, batches }: StageTruth,
  { rate }: MeasurementNoise,
  random: Random,
): ServerBreakdown {
  const seen = batches.map(({ size, executions, meanExecutionUs }) => {
    const noise = Math.hypot(EXECUTION_NOISE.least, EXECUTION_NOISE.single / Math.sqrt(executions));
    return { size, executions, meanExecutionUs: (meanExecutionUs / rate) * Math.exp(noise * standardNormal(random)) };
  });
  return {
    queueUs: queueUs / rate,
    computeInputUs: (0.08 * computeUs) / rate,
    computeInferUs: (0.88 * computeUs) / rate,
    computeOutputUs: (0.04 * computeUs) / rate,
    overheadUs: 0,
    requestUs: (queueUs + computeUs) / rate,
    successCount: requests,
    inferenceCount: batches.reduce((sum, { size, executions }) => sum + size * executions, 0),
    executionCount: batches.reduce((sum, { executions }) => sum + executions, 0),
    failCount: 0,
    cache: NO_CACHE,
    batches: seen,
  };
}

const NO_CACHE = { hitCount: 0, hitUs: 0, missCount: 0, missUs: 0 };

/** Returns the statistics of an ensemble, which neither queues nor executes, and has no batches. */
function ensembleBreakdown({
  requests = 0,
  latencyMs,
}: Pick<Truth, 'latencyMs' | 'requests'> | FrontTruth): ServerBreakdown {
  return {
    queueUs: 0,
    computeInputUs: 0,
    computeInferUs: 0,
    computeOutputUs: 0,
    overheadUs: 0,
    requestUs: 1e3 * latencyMs.avg,
    successCount: requests,
    inferenceCount: requests,
    executionCount: requests,
    failCount: 0,
    cache: NO_CACHE,
    batches: [],
  };
}
