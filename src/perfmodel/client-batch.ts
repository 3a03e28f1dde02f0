import type { Measurement } from '../profiler/measurement.ts';

/** Samples per request: the rates of samples and of requests, over the same windows. */
export function clientBatchOf({ throughput, durationMs, requests, errorRate }: Measurement): number {
  const requestsPerSecond = (requests * (1 - errorRate)) / (durationMs / 1e3);
  return requestsPerSecond > 0 ? Math.max(1, Math.round(throughput.value / requestsPerSecond)) : 1;
}
