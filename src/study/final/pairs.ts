import { mean } from 'simple-statistics';
import type { Measurement } from '../../profiler/measurement.ts';
import type { Interval } from '../../stats/interval.ts';
import { ratioInterval } from '../../stats/ratio.ts';
import { assess, costHalfWidth, missingMetrics } from '../goal.ts';
import type { Goal } from '../types.ts';
import { mostlyMeets, type Reading, type Side } from './sides.ts';
import { bestBelow } from './steps.ts';

/** Measurements of two sides, each pair of one round. */
export type Pairs = readonly (readonly [Measurement, Measurement])[];

/** Of the rounds that both were measured in at their present levels. */
export const pairsOf = (a: Side, b: Side): Pairs => joined(a.readings, b.readings);

/** Also of levels that a side has left since, where there is nothing else to go by. */
export function latestPairs(a: Side, b: Side): Pairs {
  const present = pairsOf(a, b);
  return present.length > 0 ? present : joined(latestOf(a), latestOf(b));
}

const latestOf = ({ former, readings }: Side): readonly Reading[] => [...(former.at(-1) ?? []), ...readings];

function joined(a: readonly Reading[], b: readonly Reading[]): Pairs {
  return a.flatMap(({ round, measurement }) => {
    const other = b.findLast((reading) => reading.round === round);
    return other ? [[measurement, other.measurement] as const] : [];
  });
}

/** Whether that side of the pairs mostly met the goal. */
export function heldIn(pairs: Pairs, index: 0 | 1, { trial }: Side, goal: Goal): boolean {
  return mostlyMeets(
    pairs.map((pair) => pair[index]),
    trial,
    goal,
  );
}

/** Whether the search met the goal at a level below that side's of these pairs. */
export function standsBelow(pairs: Pairs, index: 0 | 1, { trial }: Side, goal: Goal): boolean {
  const lowest = Math.min(...pairs.map((pair) => pair[index].level.value));
  return trial.feasible && bestBelow(trial, lowest, goal) !== undefined;
}

/** Half the 95 % interval of one pair's ratio, by what its measurements know of themselves; the mean over the pairs. */
export function halfWidthOf(pairs: Pairs, goal: Goal): number {
  return mean(pairs.map(([of, to]) => Math.hypot(costHalfWidth(of, goal), costHalfWidth(to, goal))));
}

/** How many times better the first side is; exp(-cost) is the throughput itself when that is the objective. null when a side served nothing. */
export function gainOf(pairs: Pairs, { trial: a }: Side, { trial: b }: Side, goal: Goal): Interval | null {
  const usable = pairs
    .filter(
      ([of, to]) =>
        missingMetrics(of, a.candidate, goal).length === 0 && missingMetrics(to, b.candidate, goal).length === 0,
    )
    .map(([of, to]) => ({
      numerator: Math.exp(-assess(of, a.candidate, goal).cost),
      denominator: Math.exp(-assess(to, b.candidate, goal).cost),
      relativeHalfWidth: Math.hypot(costHalfWidth(of, goal), costHalfWidth(to, goal)),
    }))
    .filter(({ numerator, denominator }) => numerator > 0 && denominator > 0);
  return usable.length > 0 ? ratioInterval(usable) : null;
}
