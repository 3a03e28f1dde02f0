import { mean } from 'simple-statistics';
import type { Measurement } from '#profiler/measurement.ts';
import type { Candidate } from '#space/types.ts';
import type { Interval } from '#stats/interval.ts';
import { type Pair, ratioInterval } from '#stats/ratio.ts';
import { assess, costHalfWidth, followsFromThroughput, goalOfLevels, missingMetrics } from '../goal/goal.ts';
import type { Goal } from '../types.ts';
import { costServing, type Side } from './sides.ts';

/** Measurements of two sides, paired by round. */
export type Pairs = readonly (readonly [Measurement, Measurement])[];

/** Returns the pairs of the rounds in which both sides were measured. */
export function listPairs(a: Side, b: Side): Pairs {
  return a.readings.flatMap(({ round, measurement }) => {
    const other = b.readings.findLast((reading) => reading.round === round);
    return other ? [[measurement, other.measurement] as const] : [];
  });
}

/**
 * Returns half the 95 % interval of one pair's ratio by the measurements' own intervals; the mean
 * over the pairs.
 */
export const computeHalfWidth = (pairs: Pairs, a: Side, b: Side, goal: Goal): number =>
  mean(pairs.map((pair) => halfWidthOfPair(pair, a, b, goalOfPairs(goal))));

const halfWidthOfPair = ([of, to]: Pairs[number], a: Side, b: Side, goal: Goal): number =>
  Math.hypot(costHalfWidth(of, a.trial.candidate, goal), costHalfWidth(to, b.trial.candidate, goal));

/**
 * The goal by which pairs are compared: throughput if everything follows from it, whatever its
 * steps.
 */
const goalOfPairs = (goal: Goal): Goal => (followsFromThroughput(goal) ? goalOfLevels(goal) : goal);

/**
 * Returns the gain of the first side over the second, each at its own level. exp(−cost) is the
 * throughput where that is the objective. A measurement at another level is scaled by its curve.
 * null when a side served nothing.
 */
export function computeGain(pairs: Pairs, a: Side, b: Side, goal: Goal): Interval | null {
  const by = goalOfPairs(goal);
  const usable = pairs
    .filter(
      ([of, to]) =>
        missingMetrics(of, a.trial.candidate, goal).length === 0 &&
        missingMetrics(to, b.trial.candidate, goal).length === 0,
    )
    .map((pair) => ({
      numerator: servedAtLevel(pair[0], a, by),
      denominator: servedAtLevel(pair[1], b, by),
      relativeHalfWidth: halfWidthOfPair(pair, a, b, by),
    }))
    .filter(({ numerator, denominator }) => numerator > 0 && denominator > 0);
  if (usable.length === 0) return null;
  const ratio = ratioInterval(usable);
  return by === goal ? ratio : gainInCost(usable, ratio, a, b, goal);
}

/**
 * Returns the gain in a metric that follows from throughput, such as a cost with whole replicas, by
 * the average that both sides served. Each end of the interval has half of the ratio's uncertainty
 * on either side.
 */
function gainInCost(usable: readonly Pair[], ratio: Interval, a: Side, b: Side, goal: Goal): Interval {
  const [ownValue, other] = [
    mean(usable.map(({ numerator }) => Math.log(numerator))),
    mean(usable.map(({ denominator }) => Math.log(denominator))),
  ];
  const at = (shift: number): number =>
    Math.exp(costServing(b, other - shift / 2, goal) - costServing(a, ownValue + shift / 2, goal));
  const { value, low, high } = ratio;
  return {
    value: at(0),
    low: low > 0 ? at(Math.log(low / value)) : 0,
    high: Number.isFinite(high) ? at(Math.log(high / value)) : Number.POSITIVE_INFINITY,
  };
}

/**
 * Scales a measurement to the side's level by its curve. More requests in flight serve no less, and
 * at most proportionally more.
 */
function servedAtLevel(measurement: Measurement, { trial, curve, level }: Side, goal: Goal): number {
  const served = Math.exp(-assess(measurement, trial.candidate, goal).cost);
  if (!curve || measurement.level.value === level) return served;
  const more = level / measurement.level.value;
  const factor = Math.exp(curve.throughput(level).mean - curve.throughput(measurement.level.value).mean);
  return served * Math.min(Math.max(factor, Math.min(1, more)), Math.max(1, more));
}

/**
 * Returns how many times better one measurement is than another of a different time, with the
 * interval that their two intervals give; null where one has no cost.
 */
export function computeRatio(
  measurement: Measurement,
  candidate: Candidate,
  other: Measurement,
  otherCandidate: Candidate,
  goal: Goal,
): Interval | null {
  const logRatio = assess(other, otherCandidate, goal).cost - assess(measurement, candidate, goal).cost;
  if (!Number.isFinite(logRatio)) return null;
  const half = Math.hypot(costHalfWidth(measurement, candidate, goal), costHalfWidth(other, otherCandidate, goal));
  return { value: Math.exp(logRatio), low: Math.exp(logRatio - half), high: Math.exp(logRatio + half) };
}
