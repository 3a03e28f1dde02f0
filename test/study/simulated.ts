import { NS_PER_MS, NS_PER_US } from '#base/units.ts';
import type { Measurement } from '#profiler/measurement.ts';
import { toPolicy } from '#queueing/batcher-policy.ts';
import { affineLaw, executionNs, type ServiceLaw } from '#queueing/service-law.ts';
import { simulate } from '#queueing/simulate.ts';
import type { Simulation } from '#queueing/tally.ts';
import { countInstances } from '#triton/config/instances.ts';
import type { ModelConfig } from '#triton/config/model-config.ts';
import { measured } from './builders.ts';

const law: ServiceLaw = {
  ...affineLaw(2 * NS_PER_MS, 0.2 * NS_PER_MS),
  interference: { perInstance: 0.2, batchExponent: 0 },
  cv: 0.05,
};
const ROUND_TRIP_NS = 0.3 * NS_PER_MS;

/** What a server of one law of service would really do. */
export const truth = (config: ModelConfig, concurrency: number, samplesPerRequest = 1): Simulation =>
  simulate(
    toPolicy(config, countInstances(config)),
    law,
    { kind: 'closed', concurrency, roundTripNs: ROUND_TRIP_NS, samplesPerRequest },
    { warmUpRequests: 200, requests: 3000, seed: 9 },
  );

/** The measurement that such a server would give, with its statistics. */
export function measuredAt(config: ModelConfig, concurrency: number, samplesPerRequest = 1): Measurement {
  const run = truth(config, concurrency, samplesPerRequest);
  const { mean, p50, p90, p95, p99 } = run.latencyNs;
  const batches = Array.from(run.executions, (executions, size) => ({
    size,
    executions,
    meanExecutionUs: executionNs(law, Math.max(1, size), run.busyInstances) / NS_PER_US,
  })).filter(({ executions }) => executions > 0);
  const ms = (ns: number): number => ns / NS_PER_MS;
  return measured(concurrency, run.requestsPerSecond * samplesPerRequest, ms(p99), {
    latencyMs: {
      avg: ms(mean),
      p50: ms(p50),
      p90: ms(p90),
      p95: ms(p95),
      p99: ms(p99),
      max: ms(p99),
      min: ms(p50),
      std: 0,
    },
    requests: run.requests,
    durationMs: (run.requests / run.requestsPerSecond) * 1000,
    server: {
      queueUs: run.queueNs / NS_PER_US,
      computeInputUs: 0,
      computeInferUs: run.computeNs / NS_PER_US,
      computeOutputUs: 0,
      overheadUs: 0,
      inferenceCount: run.requests * samplesPerRequest,
      executionCount: batches.reduce((sum, { executions }) => sum + executions, 0),
      failCount: 0,
      requestUs: (run.queueNs + run.computeNs) / NS_PER_US,
      successCount: run.requests,
      cache: { hitCount: 0, hitUs: 0, missCount: 0, missUs: 0 },
      batches,
    },
  });
}
