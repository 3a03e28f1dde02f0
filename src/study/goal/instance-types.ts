import { type Interval, timesInterval } from '#stats/interval.ts';
import type { InstanceType } from '../records/goal-schema.ts';
import type { InstanceTypeCost } from '../summary/point-schema.ts';
import { costsPerMillion } from './cost-per-million.ts';

/** What one replica is, and serves. */
export interface PricedReplica {
  /** The GPUs, or MIG slices, that it uses: 1 or more. */
  readonly gpus: number;
  /** Inferences per second. */
  readonly perSecond: Interval;
  /** Output tokens per second of a language model; null for others. */
  readonly tokensPerSecond: Interval | null;
  /** The replicas that a rate needs; null if no rate was asked for, or no number holds it. */
  readonly replicas: number | null;
}

/**
 * Returns the cost on each type of instance with enough GPUs for one replica, the cheapest first.
 * Assumes that replicas on the same instance serve as much as one alone.
 */
export function instanceTypeCosts(
  types: readonly InstanceType[],
  { gpus, perSecond, tokensPerSecond, replicas }: PricedReplica,
): readonly InstanceTypeCost[] {
  const costs = types.flatMap((type): InstanceTypeCost[] => {
    const holds = Math.floor(type.gpus / gpus);
    if (!(holds > 0)) return [];
    const perMillion = (one: Interval): Interval => costsPerMillion(type.perHour, timesInterval(one, holds));
    const instances = replicas === null ? null : Math.ceil(replicas / holds);
    return [
      {
        ...type,
        holds,
        perMillion: perMillion(perSecond),
        ...(tokensPerSecond && { perMillionTokens: perMillion(tokensPerSecond) }),
        ...(instances !== null && { forRate: { instances, perHour: instances * type.perHour } }),
      },
    ];
  });
  const computeCost = ({ forRate, perMillion }: InstanceTypeCost): number => forRate?.perHour ?? perMillion.value;
  return costs.toSorted((a, b) => computeCost(a) - computeCost(b) || a.perMillion.value - b.perMillion.value);
}
