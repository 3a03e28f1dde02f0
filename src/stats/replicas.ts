import { probit } from 'simple-statistics';
import type { Interval } from './interval.ts';
import { chanceBelow, DEVIATIONS_AT_95_PERCENT } from './normal.ts';

/** How sure, and how far below what it can do, a server is to be used. */
export interface ReplicaRule {
  /** The share of its capacity that is kept free, from 0 to less than 1. */
  readonly headroom: number;
  /** The chance to hold the rate, above 0 and below 1. */
  readonly chance: number;
}

/** Rounding may not cost a replica: 3.0000000001 are 3. */
const ROUNDING = 1e-9;

/**
 * Returns the rate that a server is counted with: what it serves at least with the rule's chance, less the headroom. `capacity`: what it serves
 * within the budget, with its 95 % interval, which is taken for that of a normal distribution. All replicas are of one estimate, so that more
 * of them make nothing surer. 0 where the interval leaves no rate.
 */
export function usableRate(capacity: Interval, { headroom, chance }: ReplicaRule): number {
  const least = capacity.value - probit(chance) * sdOf(capacity);
  return least > 0 ? least * (1 - headroom) : 0;
}

/** Returns the replicas, a whole number of 1 or more, that a rate needs; Infinity for a usable rate of 0. */
export const replicasFor = (rate: number, usable: number): number =>
  Math.max(1, Math.ceil(rate / Math.max(usable, 0) - ROUNDING));

/** Returns the chance, 0 to 1, that this many replicas serve the rate with the headroom left. */
export function chanceToHold(replicas: number, rate: number, capacity: Interval, headroom: number): number {
  const needed = rate / (replicas * (1 - headroom));
  const sd = sdOf(capacity);
  if (sd === 0) return capacity.value >= needed ? 1 : 0;
  return chanceBelow((capacity.value - needed) / sd);
}

const sdOf = ({ value, low, high }: Interval): number =>
  Math.max(value - low, Number.isFinite(high) ? high - value : 0) / DEVIATIONS_AT_95_PERCENT;
