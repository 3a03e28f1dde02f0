import { type Interval, timesInterval } from '../../stats/interval.ts';
import type { InstanceType } from '../records/schema/goal.ts';
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
 * The cost of serving on one type of instance, with as many replicas on each as it has GPUs for.
 */
export interface InstanceTypeCost extends InstanceType {
  /** The replicas that an instance holds. */
  readonly holds: number;
  /** The cost of a million inferences, at what the replicas of an instance serve together. */
  readonly perMillion: Interval;
  /** The cost of a million output tokens; only for language models. */
  readonly perMillionTokens?: Interval;
  /**
   * The instances that the rate needs, and what an hour of all of them costs; only if a rate was
   * asked for.
   */
  readonly forRate?: { readonly instances: number; readonly perHour: number };
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
  const costOf = ({ forRate, perMillion }: InstanceTypeCost): number => forRate?.perHour ?? perMillion.value;
  return costs.toSorted((a, b) => costOf(a) - costOf(b) || a.perMillion.value - b.perMillion.value);
}
