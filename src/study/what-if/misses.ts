import { forecaster, observationsOf, REPORT_SEED } from '../prediction.ts';
import type { Trial } from '../types.ts';

/**
 * How far the queueing model was off where it can be told: each trial foretold from all others, and compared with what was then
 * measured of it. A factor of 1.1: `share` of the measurements lay between 1/1.1 and 1.1 times what was foretold.
 */
export interface Misses {
  readonly throughputFactor: number;
  readonly latencyFactor: number;
  readonly share: number;
  readonly measurements: number;
  readonly trials: number;
}

/** Trials that are held out: one fit each, so not all of a long study. */
const MOST_TRIALS = 10;
const SHARE = 0.9;

/** null when no measurement could be foretold from other trials. */
export function foretoldMisses(trials: readonly Trial[], percentile: number): Misses | null {
  const telling = trials.filter((trial) => observationsOf(trial).length > 0);
  const heldOut = spread(telling, MOST_TRIALS);
  const misses = heldOut.flatMap((target) => {
    const forecast = forecaster(telling.filter((trial) => trial.number !== target.number));
    return target.measurements.flatMap((measurement) => {
      const { level, throughput, budgetLatencyMs } = measurement;
      if (observationsOf({ ...target, measurements: [measurement] }).length === 0) return [];
      const told = forecast(target.candidate.config, level, { seed: REPORT_SEED, percentile });
      if (!told) return [];
      return [
        {
          throughput: Math.abs(Math.log(throughput.value / told.throughput)),
          latency: Math.abs(Math.log(budgetLatencyMs.value / told.budgetLatencyMs.value)),
        },
      ];
    });
  });
  if (misses.length === 0) return null;
  const factor = (of: (miss: (typeof misses)[number]) => number): number => Math.exp(upper(misses.map(of)));
  return {
    throughputFactor: factor(({ throughput }) => throughput),
    latencyFactor: factor(({ latency }) => latency),
    share: Math.min(SHARE, misses.length / (misses.length + 1)),
    measurements: misses.length,
    trials: heldOut.length,
  };
}

/**
 * The bound that a further miss of the same kind stays below in 9 of 10 cases (the conformal quantile: rank ⌈0.9·(n+1)⌉
 * of n); of fewer than nine, the largest, and the share that it stands for is smaller.
 */
function upper(misses: readonly number[]): number {
  const rising = [...misses].sort((a, b) => a - b);
  const rank = Math.min(rising.length, Math.ceil(SHARE * (rising.length + 1)));
  return rising[rank - 1] as number;
}

/** So many of them, evenly over the list. */
function spread<T>(all: readonly T[], most: number): T[] {
  if (all.length <= most) return [...all];
  return Array.from({ length: most }, (_, index) => all[Math.round((index * (all.length - 1)) / (most - 1))] as T);
}
