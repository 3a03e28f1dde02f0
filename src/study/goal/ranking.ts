import type { Measurement } from '#profiler/measurement.ts';
import type { Candidate } from '#space/types.ts';
import type { ConstrainedPoint } from '#stats/crowded-sort.ts';
import { type Costs, lowerIsBetter, paretoFront } from '#stats/front.ts';
import { findInFlight } from '../level-line.ts';
import type { Doubted, Goal, Trial } from '../types.ts';
import {
  type Assessment,
  assess,
  compareAssessments,
  costHalfWidth,
  goalOfLevels,
  isFeasible,
  listConstraints,
  missingMetrics,
} from './goal.ts';
import { chooseLevel } from './levels.ts';
import { toMetrics } from './metrics/registry.ts';

/** A trial at one of its levels. */
export interface TrialPoint {
  readonly trial: Trial;
  readonly measurement: Measurement;
  readonly feasible: boolean;
}

/** The standing of a trial under a goal; `chosen` is the index of the level that it stands for. */
export interface Standing {
  readonly chosen: number | null;
  readonly feasible: boolean;
}

/**
 * Returns the standing of a trial with these measurements, by the level search's own rule.
 * Measurements that lack one of the goal's metrics do not count, nor do those that the load
 * generator limited.
 */
export function computeStanding(
  measurements: readonly Measurement[],
  candidate: Candidate,
  requestedGoal: Goal,
): Standing {
  const goal = goalOfLevels(requestedGoal);
  const usable = measurements.filter(
    (each) => !each.client.bound && missingMetrics(each, candidate, requestedGoal).length === 0,
  );
  const outcomes = usable.map((each) => ({ level: findInFlight(each.level), ...assess(each, candidate, goal) }));
  const index = chooseLevel(outcomes);
  if (index === null) return { chosen: null, feasible: false };
  return { chosen: measurements.indexOf(usable[index] as Measurement), feasible: outcomes[index]?.feasible === true };
}

/**
 * Returns the standing by measurements that were corrected for the machine's speed. A trial keeps
 * the level that it stands for as measured (`before`) while that meets the goal and no other level
 * is better by more than the two intervals explain. The estimate of the speed moves with each
 * measurement, and without this a trial would change between levels that are about equally good,
 * and its figures and gain with it.
 */
export function steadyStanding(
  before: number | null,
  measurements: readonly Measurement[],
  candidate: Candidate,
  goal: Goal,
): Standing {
  const standing = computeStanding(measurements, candidate, goal);
  const [earlier, other] = [before, standing.chosen].map((index) => (index === null ? undefined : measurements[index]));
  if (!earlier || !other || earlier === other || !standing.feasible || earlier.client.bound) return standing;
  const by = goalOfLevels(goal);
  if (missingMetrics(earlier, candidate, goal).length > 0 || !assess(earlier, candidate, by).feasible) return standing;
  const gain = assess(earlier, candidate, by).cost - assess(other, candidate, by).cost;
  const noise = Math.hypot(costHalfWidth(earlier, candidate, by), costHalfWidth(other, candidate, by));
  return gain <= noise ? { chosen: before, feasible: true } : standing;
}

/** Returns whether the measurement that the trial stands for is among the doubted ones. */
export const isDoubted = ({ number, chosen }: Trial, doubted: readonly Doubted[]): boolean =>
  doubted.some(({ trial, reading }) => trial === number && reading === chosen);

/**
 * Returns the best trial that did not fail: the best feasible one by the objectives, else the one
 * that misses the goal by least. Ties go to the earlier one. Doubted measurements are left out, so
 * that a trial may stand at another of its levels; they count again where only the original config
 * would be left.
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
    const measurement = findChosen(trial);
    if (!measurement) continue;
    const assessment = assess(measurement, trial.candidate, goal);
    if (best === null || compareAssessments(assessment, best.assessment) < 0) best = { trial, assessment };
  }
  return best?.trial ?? null;
}

/**
 * Returns the trial as it stands without its doubted measurements. The original config keeps all of
 * its own.
 */
function withoutDoubted(trial: Trial, goal: Goal, doubted: readonly Doubted[]): Trial {
  if (trial.role === 'baseline' || !isDoubted(trial, doubted)) return trial;
  const { measurements, candidate, number } = trial;
  const indices = doubted.filter((each) => each.trial === number).map(({ reading }) => reading);
  const others = measurements.filter((_, index) => !indices.includes(index));
  const { chosen, feasible } = computeStanding(others, candidate, goal);
  return { ...trial, feasible, chosen: chosen === null ? null : measurements.indexOf(others[chosen] as Measurement) };
}

/**
 * Returns the points that no other beats in throughput, the goal's latency and every other
 * objective at once, by rising throughput. The constraints count, but not the latency budget:
 * people choose a budget from the front.
 */
export function computeFront(trials: readonly Trial[], goal: Goal): readonly TrialPoint[] {
  const axes = frontAxes(goal);
  const unbudgeted: Goal = { ...goal, budget: null };
  const points = trials
    .filter((trial) => trial.failure === null)
    .flatMap((trial) => trial.measurements.map((measurement) => ({ trial, measurement })))
    .filter(({ trial, measurement }) => meets(measurement, trial.candidate, unbudgeted));
  const costs = points.map(({ trial, measurement }) => computeCosts(measurement, trial.candidate, goal, axes));
  return paretoFront(costs)
    .map((index) => points[index] as Omit<TrialPoint, 'feasible'>)
    .map((point) => ({ ...point, feasible: isFeasible(point.measurement, point.trial.candidate, goal) }))
    .sort((a, b) => a.measurement.throughput.value - b.measurement.throughput.value);
}

/** Returns the names of the metrics that the points of a front are compared by. */
export function frontAxes(goal: Goal): readonly string[] {
  return [...new Set(['throughput', 'latency', ...goal.objectives.map((objective) => objective.metric)])];
}

/**
 * Returns the costs of the level that the trial stands for, and its violation of the goal; both are
 * infinite for a trial without a level.
 */
export function toPoint(trial: Trial, goal: Goal, axes: readonly string[]): ConstrainedPoint {
  const measurement = findChosen(trial);
  if (!measurement) return { costs: axes.map(() => Number.POSITIVE_INFINITY), violation: Number.POSITIVE_INFINITY };
  const { violation } = assess(measurement, trial.candidate, goal);
  return { costs: computeCosts(measurement, trial.candidate, goal, axes), violation };
}

/**
 * Returns the measurement that the trial stands for; undefined for a trial that failed or was not
 * measured.
 */
export function findChosen(trial: Trial): Measurement | undefined {
  return trial.failure === null && trial.chosen !== null ? trial.measurements[trial.chosen] : undefined;
}

function computeCosts(measurement: Measurement, candidate: Candidate, goal: Goal, axes: readonly string[]): Costs {
  const metrics = toMetrics(goal);
  return lowerIsBetter(
    axes.map((axis) => metrics.read(axis, measurement, candidate) ?? Number.NaN),
    axes.map((axis) => metrics.named(axis).better),
  );
}

/** Constraints on a latency percentile are budgets too. */
function meets(measurement: Measurement, candidate: Candidate, goal: Goal): boolean {
  const kept = { ...goal, constraints: listConstraints(goal).filter(({ metric }) => !metric.startsWith('latency')) };
  return isFeasible(measurement, candidate, kept);
}
