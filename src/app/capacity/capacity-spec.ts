import type { BurstShape } from '../../capacity/loads.ts';
import type { PriceList } from '../../spec/price-spec.ts';
import type { ServiceSpec } from '../profile/services/service.ts';

/** The questions about a server. */
export interface CapacityAsked {
  /** Milliseconds; absent if each request has its own limits instead. */
  readonly latencyBudget?: number;
  /** The percentile of requests that must keep the budget or the limits. */
  readonly percentile: number;
  /** Half-width of the capacity's 95 % interval that ends the search, in per cent. */
  readonly precision: number;
  readonly requestDistribution: 'constant' | 'poisson';
  /**
   * Seconds that everything but bursts may take; bursts come after it, and may take as long again.
   */
  readonly timeBudget: number;
  readonly burst?: BurstShape;
  /** Seconds after a burst within which the server must keep the budget again. */
  readonly recoverWithin?: number;
  /** Requests per second that the replicas must serve together. */
  readonly forRate?: number;
  /** The required probability that all replicas keep the limit. */
  readonly holdChance: number;
  /** The share of each replica's capacity to keep free. */
  readonly headroom: number;
  /** The standard deviation of the replicas' capacities, as a share. */
  readonly replicaSpread: number;
  /** The prices, or the path of their file. */
  readonly prices?: string | PriceList;
  /** The GPU of the prices that the server has, or GPU/SLICE. */
  readonly gpu?: string;
  /** The GPUs of the server, if its metrics do not show them. */
  readonly serverGpus?: number;
  /** The instance type of the prices that the server is. */
  readonly instanceType?: string;
}

type OfProfile = Pick<
  ServiceSpec,
  Exclude<keyof ServiceSpec, keyof CapacityAsked | 'requestRateRange' | 'latencyThreshold' | 'traceSpeed' | 'burst'>
>;

/** A server, the requests to it, and the questions about it. */
export type CapacitySpec = CapacityAsked & OfProfile;

/** The defaults. */
export const capacityDefaults = {
  percentile: 99,
  precision: 3,
  requestDistribution: 'poisson',
  timeBudget: 600,
  holdChance: 0.95,
  headroom: 0,
  replicaSpread: 0,
} as const satisfies Partial<CapacityAsked>;
