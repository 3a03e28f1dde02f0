import type { Measurement } from '#profiler/measurement.ts';

/**
 * Returns the samples per request: the rate of samples over the rate of requests, over the same
 * windows.
 */
export function findClientBatch({ throughput, durationMs, requests, errorRate }: Measurement): number {
  const requestsPerSecond = (requests * (1 - errorRate)) / (durationMs / 1e3);
  return requestsPerSecond > 0 ? Math.max(1, Math.round(throughput.value / requestsPerSecond)) : 1;
}
