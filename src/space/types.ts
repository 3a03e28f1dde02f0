import type { Json } from '../base/json.ts';
import type { ModelConfig } from '../triton/model-config.ts';

/** A value that a parameter can take: what is written at its path, or null to leave the base config's own value. */
export type ParameterValue = Json;

/** One value for each parameter that applies, by parameter name. The empty assignment is the base config. */
export type Assignment = { readonly [parameter: string]: ParameterValue };

/** A legal config to try. Two candidates with equal `fingerprint` are the same server state. */
export interface Candidate {
  /** First 12 hex digits of a SHA-256 over the canonical JSON of `config`. */
  readonly fingerprint: string;
  readonly assignment: Assignment;
  readonly config: ModelConfig;
}

export type CandidateOutcome =
  | { readonly legal: true; readonly candidate: Candidate }
  | { readonly legal: false; readonly reason: string };
