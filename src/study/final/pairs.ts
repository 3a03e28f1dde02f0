import { mean } from 'simple-statistics';
import type { Measurement } from '../../profiler/measurement.ts';
import type { Interval } from '../../stats/interval.ts';
import { ratioInterval } from '../../stats/ratio.ts';
import { assess, costHalfWidth, missingMetrics } from '../goal/goal.ts';
import type { Goal } from '../types.ts';
import type { Side } from './sides.ts';

/** Measurements of two sides, paired by round. */
export type Pairs = readonly (readonly [Measurement, Measurement])[];

/** Returns the pairs of the rounds in which both sides were measured. */
export function pairsOf(a: Side, b: Side): Pairs {
  return a.readings.flatMap(({ round, measurement }) => {
    const other = b.readings.findLast((reading) => reading.round === round);
    return other ? [[measurement, other.measurement] as const] : [];
  });
}

/** Returns half the 95 % interval of one pair's ratio by the measurements' own intervals; the mean over the pairs. */
export function halfWidthOf(pairs: Pairs, goal: Goal): number {
  return mean(pairs.map(([of, to]) => Math.hypot(costHalfWidth(of, goal), costHalfWidth(to, goal))));
}

/**
 * Returns the gain of the first side over the second, each at its own level. exp(−cost) is the throughput where that is the objective. A
 * measurement at another level is scaled by its curve. null when a side served nothing.
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

/** Scales a measurement to the side's level by its curve. More requests in flight serve no less, and at most proportionally more. */
function servedAtLevel(measurement: Measurement, { trial, curve, level }: Side, goal: Goal): number {
  const served = Math.exp(-assess(measurement, trial.candidate, goal).cost);
  if (!curve || measurement.level.value === level) return served;
  const more = level / measurement.level.value;
  const factor = Math.exp(curve.throughput(level).mean - curve.throughput(measurement.level.value).mean);
  return served * Math.min(Math.max(factor, Math.min(1, more)), Math.max(1, more));
}
