import { probit } from 'simple-statistics';
import type { Interval } from './interval.ts';
import { chanceBelow, DEVIATIONS_AT_95_PERCENT } from './normal.ts';

/** The required certainty and reserve capacity of a server. */
export interface ReplicaRule {
  /** The share of its capacity that is kept free, from 0 to less than 1. */
  readonly headroom: number;
  /** The chance to hold the rate, above 0 and below 1. */
  readonly chance: number;
}

/** Rounding must not cost a replica: 3.0000000001 counts as 3. */
const ROUNDING = 1e-9;

/**
 * Returns the rate that counts for a server: its least throughput at the rule's chance, less the
 * headroom. `capacity`: its throughput within the budget, with its 95 % interval, which is assumed
 * to be that of a normal distribution. All replicas share one estimate, so more of them add no
 * certainty. 0 if the interval leaves no rate.
 */
export function usableRate(capacity: Interval, { headroom, chance }: ReplicaRule): number {
  const least = capacity.value - probit(chance) * computeSd(capacity);
  return least > 0 ? least * (1 - headroom) : 0;
}

/**
 * Returns the replicas, a whole number of 1 or more, that a rate needs; Infinity for a usable rate
 * of 0.
 */
export const replicasFor = (rate: number, usable: number): number =>
  Math.max(1, Math.ceil(rate / Math.max(usable, 0) - ROUNDING));

/**
 * Returns the chance, 0 to 1, that this many replicas serve the rate with the headroom kept free.
 */
export function chanceToHold(replicas: number, rate: number, capacity: Interval, headroom: number): number {
  const needed = rate / (replicas * (1 - headroom));
  const sd = computeSd(capacity);
  if (sd === 0) return capacity.value >= needed ? 1 : 0;
  return chanceBelow((capacity.value - needed) / sd);
}

const computeSd = ({ value, low, high }: Interval): number =>
  Math.max(value - low, Number.isFinite(high) ? high - value : 0) / DEVIATIONS_AT_95_PERCENT;

/** The rule for a rate that several replicas serve. */
export interface ReplicasRule extends ReplicaRule {
  readonly perSecond: number;
  /** The differences in capacity between replicas: the standard deviation of its logarithm. */
  readonly spread: number;
}

/**
 * A number of replicas, and the chance that each of them keeps the budget at its share of the rate.
 */
export interface ReplicasRow {
  readonly replicas: number;
  readonly perReplica: number;
  readonly chance: number;
}

/** The number of replicas that a rate needs. */
export interface ReplicasNeeded extends ReplicasRule {
  /** null if no number up to the most has the chance, because the spread is too large. */
  readonly replicas: number | null;
  /** The numbers around it. */
  readonly table: readonly ReplicasRow[];
}

/** The distribution of a capacity. */
export interface CapacityChances {
  /** The chance that it is at least this rate. */
  chance(perSecond: number): number;
  /** The rate that it is below with this chance. */
  quantile(chance: number): number;
}

const POINTS = 100;
const MAX_REPLICAS = 100_000;
/** Rows of the table before the needed number and after it. */
const BEFORE = 3;
const AFTER = 2;

/**
 * Returns the fewest replicas that hold the rate with the requested chance. A Poisson stream that
 * is split at random is a Poisson stream of a share of the rate for each replica, so the
 * measurements of one hold for each; a balancer that looks at queues does better. `capacity`: that
 * of one replica. All replicas share its uncertainty; their differences are independent.
 */
export function replicasNeeded(capacity: CapacityChances, rule: ReplicasRule): ReplicasNeeded {
  const rate = rule.perSecond / (1 - rule.headroom);
  // Equally likely capacities of one replica.
  const points = Array.from({ length: POINTS }, (_, at) => capacity.quantile((at + 0.5) / POINTS));
  const row = (replicas: number): ReplicasRow => {
    const perReplica = rate / replicas;
    return { replicas, perReplica, chance: chanceAllHold(points, capacity, perReplica, replicas, rule.spread) };
  };
  const replicas = fewest((count) => row(count).chance >= rule.chance);
  const middle = replicas ?? Math.ceil(rate / capacity.quantile(0.5));
  const from = Math.max(1, middle - BEFORE);
  const table = Array.from({ length: middle + AFTER - from + 1 }, (_, at) => row(from + at));
  return { ...rule, replicas, table };
}

function chanceAllHold(
  points: readonly number[],
  { chance }: CapacityChances,
  perReplica: number,
  replicas: number,
  spread: number,
): number {
  if (spread === 0) return chance(perReplica);
  const all = points.map((perSecond) => chanceBelow(Math.log(perSecond / perReplica) / spread) ** replicas);
  return all.reduce((sum, each) => sum + each, 0) / points.length;
}

/**
 * Returns the smallest number that passes the test, by doubling and then halving; null for none.
 */
function fewest(isEnough: (count: number) => boolean): number | null {
  let high = 1;
  while (!isEnough(high)) {
    if (high >= MAX_REPLICAS) return null;
    high *= 2;
  }
  let low = Math.floor(high / 2);
  while (high - low > 1) {
    const middle = Math.floor((low + high) / 2);
    if (isEnough(middle)) high = middle;
    else low = middle;
  }
  return high;
}
