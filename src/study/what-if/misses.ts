import { observationsOf } from '../../perfmodel/observations.ts';
import { forecaster } from '../fitted-prediction.ts';
import type { Trial } from '../types.ts';
import { drawOf } from './draw.ts';

/**
 * How far the queueing model was off where it can be told: each trial foretold from all others, and compared with what was then
 * measured of it. `share` of the measurements lay between `low` and `high` times what was foretold.
 */
export interface Misses {
  readonly throughput: Factors;
  readonly latency: Factors;
  readonly share: number;
  readonly measurements: number;
  readonly trials: number;
}

/** At most 1 and at least 1. */
export interface Factors {
  readonly low: number;
  readonly high: number;
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
      const told = forecast(target.candidate.config, level, drawOf(percentile));
      if (!told) return [];
      return [
        {
          throughput: throughput.value / told.throughput,
          latency: budgetLatencyMs.value / told.budgetLatencyMs.value,
        },
      ];
    });
  });
  if (misses.length === 0) return null;
  return {
    throughput: factorsOf(misses.map(({ throughput }) => throughput)),
    latency: factorsOf(misses.map(({ latency }) => latency)),
    share: Math.min(SHARE, Math.max(0, 1 - 2 / (misses.length + 1))),
    measurements: misses.length,
    trials: heldOut.length,
  };
}

/**
 * The bounds that a further quotient of the same kind lies between in 9 of 10 cases (the conformal interval: as many ranks from
 * either end as leave a twentieth of n + 1 outside); of fewer than 19, the least and the largest, which stand for a smaller share.
 */
function factorsOf(quotients: readonly number[]): Factors {
  const rising = [...quotients].sort((a, b) => a - b);
  const outside = Math.max(1, Math.floor(((1 - SHARE) / 2) * (rising.length + 1)));
  return {
    low: Math.min(1, rising[outside - 1] as number),
    high: Math.max(1, rising[rising.length - outside] as number),
  };
}

/** So many of them, evenly over the list. */
function spread<T>(all: readonly T[], most: number): T[] {
  if (all.length <= most) return [...all];
  return Array.from({ length: most }, (_, index) => all[Math.round((index * (all.length - 1)) / (most - 1))] as T);
}
