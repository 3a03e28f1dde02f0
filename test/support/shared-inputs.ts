import type { RegionsPlan } from '#loadgen/shared-memory/open-regions.ts';
import type { RequestSet } from '#loadgen/types.ts';

/**
 * These requests for a plan of shared memory; each of their values must have a buffer of its own.
 */
export function sharedInputs(set: RequestSet): RegionsPlan['inputs'][number] {
  const values = set.requests.flatMap(({ inputs }) => inputs.map(({ raw }) => raw));
  return { requests: set.requests, mostBatch: set.batch, values: [...new Set(values)] };
}
