import type { ReplicasRule } from '#stats/replicas.ts';
import type { BurstShape } from './loads.ts';
import type { CapacityLimit } from './reading.ts';

/**
 * A burst, and how soon after it latency must be within the budget again; null if the burst itself
 * must keep the budget.
 */
export interface BurstQuestion extends BurstShape {
  readonly recoverSeconds: number | null;
}

/** The questions about a server. */
export interface CapacityQuestion {
  readonly limit: CapacityLimit;
  /** Samples in one request. */
  readonly batch: number;
  /** Half-width of the capacity's 95 % interval that ends the search, as a share. */
  readonly precision: number;
  /** Seconds for everything but bursts, which come after it and may take as long again. */
  readonly mostSeconds: number;
  /** True if the server computes on this host's CPU, and so is as fast as the host. */
  readonly followsHost: boolean;
  readonly burst: BurstQuestion | null;
  readonly replicas: ReplicasRule | null;
}

/** The rates beyond the capacity to measure, as multiples of it. */
export const CLIFF_FACTORS = [1.05, 1.1, 1.25] as const;
