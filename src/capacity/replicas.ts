import { chanceBelow } from '../stats/normal.ts';
import type { CapacityPosterior } from './posterior.ts';

/** The rate that is to be served by several replicas. */
export interface ReplicasRule {
  readonly perSecond: number;
  /** The share of each capacity that is kept free, 0 to less than 1. */
  readonly headroom: number;
  /** The chance that all replicas keep the budget. */
  readonly chance: number;
  /** How far replicas differ in capacity: the standard deviation of its logarithm. */
  readonly spread: number;
}

/** A number of replicas, and the chance that each of them keeps the budget at its part of the rate. */
export interface ReplicasRow {
  readonly replicas: number;
  readonly perReplica: number;
  readonly chance: number;
}

/** How many replicas a rate needs. */
export interface ReplicasNeeded extends ReplicasRule {
  /** null where no number up to the most has the chance: a spread that is too large. */
  readonly replicas: number | null;
  /** The numbers around it. */
  readonly table: readonly ReplicasRow[];
}

type Capacity = Pick<CapacityPosterior, 'chance' | 'quantile'>;

const POINTS = 100;
const MOST_REPLICAS = 100_000;
/** Rows of the table before the needed number and after it. */
const BEFORE = 3;
const AFTER = 2;

/**
 * Returns the fewest replicas that hold the rate with the asked chance. A Poisson stream that is split at random is a Poisson stream of a part
 * of the rate for each replica, so what was measured of one holds for each; a balancer that looks at queues does better. `capacity`:
 * that of one replica. All replicas share what is unknown of it; how they differ is independent.
 */
export function replicasFor(capacity: Capacity, rule: ReplicasRule): ReplicasNeeded {
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
  { chance }: Capacity,
  perReplica: number,
  replicas: number,
  spread: number,
): number {
  if (spread === 0) return chance(perReplica);
  const all = points.map((perSecond) => chanceBelow(Math.log(perSecond / perReplica) / spread) ** replicas);
  return all.reduce((sum, each) => sum + each, 0) / points.length;
}

/** The smallest number of which the test holds, by doubling and then halving; null for none. */
function fewest(isEnough: (count: number) => boolean): number | null {
  let high = 1;
  while (!isEnough(high)) {
    if (high >= MOST_REPLICAS) return null;
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
