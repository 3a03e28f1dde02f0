import { NS_PER_MS, NS_PER_US } from '../base/units.ts';
import type { Measurement } from '../profiler/measurement.ts';
import { policyOf } from '../queueing/batcher-policy.ts';
import type { Observation } from '../queueing/observation.ts';
import type { Candidate } from '../space/types.ts';
import { instancesOf } from '../triton/instances.ts';
import type { ModelConfig } from '../triton/model-config.ts';
import { clientBatchOf } from './client-batch.ts';
import { variantOf } from './variant.ts';

/** A candidate with what was measured of it. */
export interface MeasuredCandidate {
  readonly candidate: Candidate;
  readonly measurements: readonly Measurement[];
}

const MOST_ERRORS = 0.01;

/** False for models without the dynamic batcher's scheduling: sequences, ensembles, decoupled. */
export function isModelled(config: ModelConfig): boolean {
  const { sequence_batching, ensemble_scheduling, model_transaction_policy } = config;
  return !sequence_batching && !ensemble_scheduling && model_transaction_policy?.decoupled !== true;
}

/** What the trial's measurements tell about the service law; none of those that were disturbed, or at a request rate. */
export function observationsOf({ candidate, measurements }: MeasuredCandidate): Observation[] {
  const policy = policyOf(candidate.config, instancesOf(candidate.config));
  const variant = variantOf(candidate.config);
  return measurements.flatMap((measurement): Observation[] => {
    const { level, latencyMs, server, throughput } = measurement;
    if (level.mode !== 'concurrency' || !server || !isUsable(measurement)) return [];
    const computeUs = server.computeInputUs + server.computeInferUs + server.computeOutputUs;
    if (!(computeUs > 0)) return [];
    // A batch that was served fits into the model's, whatever a disturbed measurement makes of the rates.
    const samplesPerRequest = Math.min(clientBatchOf(measurement), Math.max(1, policy.maxBatchSize));
    return [
      {
        variant,
        policy,
        concurrency: level.value,
        samplesPerRequest,
        requestsPerSecond: throughput.value / samplesPerRequest,
        latencyNs: { p50: latencyMs.p50 * NS_PER_MS, p99: latencyMs.p99 * NS_PER_MS },
        roundTripNs: latencyMs.avg * NS_PER_MS - (server.queueUs + computeUs) * NS_PER_US,
        split: { input: server.computeInputUs / computeUs, output: server.computeOutputUs / computeUs },
        batches: server.batches.map(({ size, executions, meanExecutionUs }) => ({
          batchSize: size,
          executions,
          meanExecutionNs: meanExecutionUs * NS_PER_US,
        })),
      },
    ];
  });
}

/** Nothing else was served meanwhile, hardly anything failed, and the figures are figures, and the server's. */
function isUsable({ errorRate, foreignRequests, throughput, latencyMs, client }: Measurement): boolean {
  const { avg, p50, p99 } = latencyMs;
  const served = [throughput.value, avg, p50, p99].every((figure) => Number.isFinite(figure) && figure > 0);
  return served && !client.bound && errorRate <= MOST_ERRORS && foreignRequests === undefined;
}
