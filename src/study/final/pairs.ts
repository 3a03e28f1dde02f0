import { mean } from 'simple-statistics';
import type { Measurement } from '../../profiler/measurement.ts';
import type { Interval } from '../../stats/interval.ts';
import { ratioInterval } from '../../stats/ratio.ts';
import { assess, costHalfWidth, missingMetrics } from '../goal.ts';
import type { Goal } from '../types.ts';
import type { Side } from './sides.ts';

/** Measurements of two sides, each pair of one round. */
export type Pairs = readonly (readonly [Measurement, Measurement])[];

/** Returns the pairs of the rounds that both were measured in. */
export function pairsOf(a: Side, b: Side): Pairs {
  return a.readings.flatMap(({ round, measurement }) => {
    const other = b.readings.findLast((reading) => reading.round === round);
    return other ? [[measurement, other.measurement] as const] : [];
  });
}

/** Half the 95 % interval of one pair's ratio, by what its measurements know of themselves; the mean over the pairs. */
export function halfWidthOf(pairs: Pairs, goal: Goal): number {
  return mean(pairs.map(([of, to]) => Math.hypot(costHalfWidth(of, goal), costHalfWidth(to, goal))));
}

/**
 * How many times better the first side is, each at its own level; exp(-cost) is the throughput itself when that is the objective. What was
 * measured at another level counts as its curve says that it would be at this one. null when a side served nothing.
 */
export function gainOf(pairs: Pairs, a: Side, b: Side, goal: Goal): Interval | null {
  const usable = pairs
    .filter(
      ([of, to]) =>
        missingMetrics(of, a.trial.candidate, goal).length === 0 &&
        missingMetrics(to, b.trial.candidate, goal).length === 0,
    )
    .map(([of, to]) => ({
      numerator: servedAtLevel(of, a, goal),
      denominator: servedAtLevel(to, b, goal),
      relativeHalfWidth: Math.hypot(costHalfWidth(of, goal), costHalfWidth(to, goal)),
    }))
    .filter(({ numerator, denominator }) => numerator > 0 && denominator > 0);
  return usable.length > 0 ? ratioInterval(usable) : null;
}

/** By the curve, within what can be: more requests in flight serve no less, and at most as much more as there are more of them. */
function servedAtLevel(measurement: Measurement, { trial, curve, level }: Side, goal: Goal): number {
  const served = Math.exp(-assess(measurement, trial.candidate, goal).cost);
  if (!curve || measurement.level.value === level) return served;
  const more = level / measurement.level.value;
  const factor = Math.exp(curve.throughput(level).mean - curve.throughput(measurement.level.value).mean);
  return served * Math.min(Math.max(factor, Math.min(1, more)), Math.max(1, more));
}
