import { NS_PER_MS, NS_PER_US } from '#base/units.ts';
import type { Measurement } from '#profiler/measurement.ts';
import type { Candidate, CandidateShape } from '#space/types.ts';
import { findClientBatch } from './client-batch.ts';
import type { Observation } from './observation.ts';
import { toSettingsKey } from './settings-key.ts';

/** A candidate with its measurements. */
export interface MeasuredCandidate {
  readonly candidate: Candidate;
  readonly measurements: readonly Measurement[];
}

const MAX_ERRORS = 0.01;

/**
 * True if the simulator models the config, unlike sequence batching, ensembles and decoupled
 * models.
 */
export const isModelled = ({ scheduling }: CandidateShape): boolean => scheduling === 'batcher';

/**
 * Returns the observations of a trial for fitting service times, without disturbed measurements and
 * those at a request rate.
 */
export function listObservations({ candidate, measurements }: MeasuredCandidate): Observation[] {
  const { policy } = candidate.shape;
  const settingsKey = toSettingsKey(candidate.shape);
  return measurements.flatMap((measurement): Observation[] => {
    const { level, latencyMs, server, throughput } = measurement;
    if (level.mode !== 'concurrency' || !server || !isUsable(measurement)) return [];
    const computeUs = server.computeInputUs + server.computeInferUs + server.computeOutputUs;
    if (!(computeUs > 0)) return [];
    // A served batch fits into the model's largest, whatever rates a disturbed measurement shows.
    const samplesPerRequest = Math.min(findClientBatch(measurement), Math.max(1, policy.maxBatchSize));
    return [
      {
        settingsKey,
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

/**
 * True if nothing else was served meanwhile, hardly anything failed, and the client did not limit
 * the load.
 */
export function isUsable({ errorRate, foreignRequests, throughput, latencyMs, client }: Measurement): boolean {
  const { avg, p50, p99 } = latencyMs;
  const served = [throughput.value, avg, p50, p99].every((figure) => Number.isFinite(figure) && figure > 0);
  return served && !client.bound && errorRate <= MAX_ERRORS && foreignRequests === undefined;
}
