import type { BurstShape } from '../../capacity/loads.ts';
import type { PromptSpec } from '../../workload/prompt-spec.ts';
import type { EndpointSpec, ProfileSpec } from '../profile/profile-spec.ts';

/** What is asked of a server. */
export interface CapacityAsked {
  /** Milliseconds; absent where limits of each request stand in its place. */
  readonly latencyBudget?: number;
  /** The percentile of requests that must keep the budget or the limits. */
  readonly percentile: number;
  /** Half-width of the capacity's 95 % interval that ends the search, in per cent. */
  readonly precision: number;
  readonly requestDistribution: 'constant' | 'poisson';
  /** Seconds that the search may take. */
  readonly maxDuration: number;
  readonly burst?: BurstShape;
  /** Seconds after a burst in which the budget must be kept again. */
  readonly recoverWithin?: number;
  /** Requests per second to be served by replicas. */
  readonly forRate?: number;
  /** The chance that all replicas keep the limit. */
  readonly chance: number;
  /** The share of each replica's capacity that is kept free. */
  readonly headroom: number;
  /** The standard deviation of the replicas' capacities, as a share. */
  readonly replicaSpread: number;
}

type OfProfile = Pick<
  ProfileSpec,
  Exclude<keyof ProfileSpec, keyof CapacityAsked | 'requestRateRange' | 'latencyThreshold' | 'traceSpeed' | 'burst'>
>;

/** A server, what it is sent, and what is asked of it. */
export type CapacitySpec = CapacityAsked & OfProfile & EndpointSpec & PromptSpec;

/** What is asked where nobody says otherwise. */
export const capacityDefaults = {
  percentile: 99,
  precision: 3,
  requestDistribution: 'poisson',
  maxDuration: 600,
  chance: 0.95,
  headroom: 0,
  replicaSpread: 0,
} as const satisfies Partial<CapacityAsked>;
