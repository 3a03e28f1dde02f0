import type { Measurement } from '../profiler/measurement.ts';
import type { Candidate } from '../space/types.ts';
import type { ConstrainedPoint } from '../stats/crowded-sort.ts';
import { type Costs, lowerIsBetter, paretoFront } from '../stats/front.ts';
import { type Assessment, assess, compareAssessments, constraintsOf, isFeasible, missingMetrics } from './goal.ts';
import { chooseLevel } from './levels.ts';
import { metricNamed, readMetric } from './metrics.ts';
import type { Doubted, Goal, Trial } from './types.ts';

/** A trial at one of its levels. */
export interface Point {
  readonly trial: Trial;
  readonly measurement: Measurement;
  readonly feasible: boolean;
}

/** Where a trial stands under a goal; `chosen` is the index of the level that it stands for. */
export interface Standing {
  readonly chosen: number | null;
  readonly feasible: boolean;
}

/**
 * By the level search's own rule. Measurements that lack a metric which the goal needs do not count, nor do those whose
 * figures are the load generator's limit.
 */
export function standingOf(measurements: readonly Measurement[], candidate: Candidate, goal: Goal): Standing {
  const usable = measurements.filter(
    (each) => !each.client.bound && missingMetrics(each, candidate, goal).length === 0,
  );
  const outcomes = usable.map((each) => ({ level: each.level.value, ...assess(each, candidate, goal) }));
  const index = chooseLevel(outcomes);
  if (index === null) return { chosen: null, feasible: false };
  return { chosen: measurements.indexOf(usable[index] as Measurement), feasible: outcomes[index]?.feasible === true };
}

/** Whether the reading that the trial stands for is one of them. */
export const isDoubted = ({ number, chosen }: Trial, doubted: readonly Doubted[]): boolean =>
  doubted.some(({ trial, reading }) => trial === number && reading === chosen);

/**
 * The best trial that did not fail: feasible ones by the objective, else the one that misses by least; ties go to the earlier. Where readings are
 * doubted it is the best without them, at another level of its own if need be, unless that is the original config: what may be luck is
 * not held against looking again.
 */
export function bestTrial(trials: readonly Trial[], goal: Goal, doubted: readonly Doubted[] = []): Trial | null {
  if (doubted.length > 0) {
    const sure = bestTrial(
      trials.map((trial) => withoutDoubted(trial, goal, doubted)),
      goal,
    );
    if (sure?.feasible && sure.role !== 'baseline') return sure;
  }
  let best: { trial: Trial; assessment: Assessment } | null = null;
  for (const trial of trials) {
    const measurement = chosenOf(trial);
    if (!measurement) continue;
    const assessment = assess(measurement, trial.candidate, goal);
    if (best === null || compareAssessments(assessment, best.assessment) < 0) best = { trial, assessment };
  }
  return best?.trial ?? null;
}

/** As it stands by the readings that are not doubted; the original config has the benefit of the doubt. */
function withoutDoubted(trial: Trial, goal: Goal, doubted: readonly Doubted[]): Trial {
  if (trial.role === 'baseline' || !isDoubted(trial, doubted)) return trial;
  const { measurements, candidate, number } = trial;
  const own = doubted.filter((each) => each.trial === number).map(({ reading }) => reading);
  const others = measurements.filter((_, index) => !own.includes(index));
  const { chosen, feasible } = standingOf(others, candidate, goal);
  return { ...trial, feasible, chosen: chosen === null ? null : measurements.indexOf(others[chosen] as Measurement) };
}

/**
 * The points that no other beats in throughput, the goal's latency, and every other objective at once; by rising
 * throughput. The latency budget does not count here, the other constraints do: a front is there to choose a budget from.
 */
export function frontOf(trials: readonly Trial[], goal: Goal): readonly Point[] {
  const axes = frontAxes(goal);
  const unbudgeted: Goal = { ...goal, budget: null };
  const points = trials
    .filter((trial) => trial.failure === null)
    .flatMap((trial) => trial.measurements.map((measurement) => ({ trial, measurement })))
    .filter(({ trial, measurement }) => meets(measurement, trial.candidate, unbudgeted));
  const costs = points.map(({ trial, measurement }) => costsOf(measurement, trial.candidate, axes));
  return paretoFront(costs)
    .map((index) => points[index] as Omit<Point, 'feasible'>)
    .map((point) => ({ ...point, feasible: isFeasible(point.measurement, point.trial.candidate, goal) }))
    .sort((a, b) => a.measurement.throughput.value - b.measurement.throughput.value);
}

/** What the points of a front are compared by: the names of the metrics. */
export function frontAxes(goal: Goal): readonly string[] {
  return [...new Set(['throughput', 'latency', ...goal.objectives.map((objective) => objective.metric)])];
}

/** How the level that the trial stands for compares, under the goal's constraints; a trial without one misses them without limit. */
export function pointOf(trial: Trial, goal: Goal, axes: readonly string[]): ConstrainedPoint {
  const measurement = chosenOf(trial);
  if (!measurement) return { costs: axes.map(() => Number.POSITIVE_INFINITY), violation: Number.POSITIVE_INFINITY };
  const { violation } = assess(measurement, trial.candidate, goal);
  return { costs: costsOf(measurement, trial.candidate, axes), violation };
}

/** The measurement that the trial stands for; undefined for one that failed or was not measured. */
export function chosenOf(trial: Trial): Measurement | undefined {
  return trial.failure === null && trial.chosen !== null ? trial.measurements[trial.chosen] : undefined;
}

function costsOf(measurement: Measurement, candidate: Candidate, axes: readonly string[]): Costs {
  return lowerIsBetter(
    axes.map((axis) => readMetric(axis, measurement, candidate) ?? Number.NaN),
    axes.map((axis) => metricNamed(axis).better),
  );
}

/** Constraints on a latency percentile are budgets too. */
function meets(measurement: Measurement, candidate: Candidate, goal: Goal): boolean {
  const kept = { ...goal, constraints: constraintsOf(goal).filter(({ metric }) => !metric.startsWith('latency')) };
  return isFeasible(measurement, candidate, kept);
}
