import { createHash } from 'node:crypto';
import { canonicalJson, type JsonObject } from '#base/json.ts';
import { plainShape } from './shape.ts';
import type { Assignment, Candidate } from './types.ts';

/**
 * Returns a candidate of a server of which only the settings are known, for custom adapters. Equal
 * values have equal fingerprints. Every setting in the value counts as one that may change the
 * duration of requests.
 */
export function plainCandidate(value: JsonObject, assignment: Assignment = {}): Candidate {
  const fingerprint = createHash('sha256').update(canonicalJson(value)).digest('hex').slice(0, 12);
  return { fingerprint, assignment, value, shape: plainShape(value) };
}
