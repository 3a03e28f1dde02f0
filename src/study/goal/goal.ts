import { TrituneError } from '#base/errors.ts';
import type { Measurement } from '#profiler/measurement.ts';
import type { Candidate } from '#space/types.ts';
import { relativeHalfWidth } from '#stats/precision.ts';
import type { Constraint, Goal, LatencyBudget } from '../types.ts';
import type { Derivation } from './metrics/metric.ts';
import { describeMissing, remedyFor } from './metrics/needs.ts';
import { partsOfName } from './metrics/of-model.ts';
import { toMetrics } from './metrics/registry.ts';

/**
 * More failed requests than this make a measurement infeasible, unless the goal has a constraint on
 * `error-rate`.
 */
const MAX_ERROR_RATE = 0.01;

/**
 * How a measurement stands to the goal. `cost` is comparable between measurements of one goal,
 * lower is better: the weighted mean over the objectives of ±ln(value), so that equal ratios count
 * alike whatever the unit, and one objective's weight does not depend on its scale. `violation` is
 * 0 when feasible, else the sum of what each constraint is missed by, relative to its limit.
 */
export interface Assessment {
  readonly feasible: boolean;
  readonly cost: number;
  readonly violation: number;
}

/**
 * Returns how a measurement stands to the goal. One that served nothing, that the load generator
 * limited, or that ended by its errors misses the goal by infinity. Errors: UNSUPPORTED when the
 * goal needs a metric that the measurement lacks.
 */
export function assess(measurement: Measurement, candidate: Candidate, goal: Goal): Assessment {
  if (!served(measurement) || measurement.client.bound || measurement.tooManyErrors)
    return { feasible: false, cost: Number.POSITIVE_INFINITY, violation: Number.POSITIVE_INFINITY };
  requireMetrics(measurement, candidate, goal);
  const violation = listConstraints(goal).reduce(
    (sum, constraint) => sum + missedBy(constraint, requiredValue(constraint.metric, measurement, candidate, goal)),
    0,
  );
  return { feasible: violation === 0, cost: computeCost(measurement, candidate, goal), violation };
}

/** True when the measurement has every metric that the goal needs and meets every constraint. */
export function isFeasible(measurement: Measurement, candidate: Candidate, goal: Goal): boolean {
  return missingMetrics(measurement, candidate, goal).length === 0 && assess(measurement, candidate, goal).feasible;
}

/**
 * Returns the constraints that the measurement misses, the budget first. A constraint counts only
 * where the metric was measured.
 */
export function missedConstraints(measurement: Measurement, candidate: Candidate, goal: Goal): readonly Constraint[] {
  return listConstraints(goal).filter((constraint) => {
    const value = lookUp(constraint.metric, measurement, candidate, goal);
    return value !== undefined && missedBy(constraint, value) > 0;
  });
}

/**
 * Returns the missed upper limits on times, all of which rise with the load: latency, time to first
 * token, gaps between tokens.
 */
export const missedTimes = (measurement: Measurement, candidate: Candidate, goal: Goal): readonly Constraint[] =>
  missedConstraints(measurement, candidate, goal).filter(
    ({ metric, relation }) => relation === '<=' && toMetrics(goal).named(metric).unit === 'ms',
  );

const byLevel = new WeakMap<Goal, Goal>();

/**
 * Returns the goal by which levels of one candidate are compared. An objective that follows from
 * others, such as a cost for a rate, improves as they rise: the level with the highest throughput
 * within the constraints is the cheapest at any rate. Returns the goal itself if no objective
 * follows from others.
 */
export function goalOfLevels(goal: Goal): Goal {
  const known = byLevel.get(goal);
  if (known) return known;
  const objectives = goal.objectives.flatMap((objective) => {
    const { from = [] } = toMetrics(goal).named(objective.metric).follows ?? {};
    return from.length === 0 ? [objective] : from.map((metric) => ({ metric, weight: objective.weight / from.length }));
  });
  const isSame = objectives.every(({ metric }, index) => metric === goal.objectives[index]?.metric);
  const ownGoal = isSame ? goal : { ...goal, objectives };
  byLevel.set(goal, ownGoal);
  return ownGoal;
}

/**
 * True if throughput alone decides between levels: each objective is throughput, or follows from
 * it.
 */
export const isByThroughput = (goal: Goal): boolean =>
  goalOfLevels(goal).objectives.every(({ metric, weight }) => metric === 'throughput' && weight > 0);

/**
 * True if every objective follows from throughput, such as a cost: in total, or of each of several
 * models.
 */
export const followsFromThroughput = (goal: Goal): boolean =>
  goal !== goalOfLevels(goal) &&
  goalOfLevels(goal).objectives.every(({ metric }) => partsOfName(metric).base === 'throughput');

/**
 * Returns the cost, as `Assessment.cost`, of a candidate at a level where its served amount is
 * known without a measurement. `served` is minus the cost by `goalOfLevels`, so for most goals the
 * logarithm of throughput. `measurement`: any of the candidate.
 */
export function costOfServed(served: number, measurement: Measurement, candidate: Candidate, goal: Goal): number {
  const total = goal.objectives.reduce((sum, objective) => sum + objective.weight, 0);
  const factor = Math.exp(served + assess(measurement, candidate, goalOfLevels(goal)).cost);
  return goal.objectives.reduce((sum, { metric, weight }) => {
    const { follows, better } = toMetrics(goal).named(metric);
    const counted = follows?.counted(measurement)?.map((each) => each * factor);
    const size = follows && counted ? computeSize(follows, counted, candidate, measurement) : served;
    return sum + (weight / total) * (better === 'higher' ? -size : size);
  }, 0);
}

/**
 * Compares for sorting, the best first: the feasible by cost, after them the infeasible by
 * violation.
 */
export function compareAssessments(a: Assessment, b: Assessment): number {
  if (a.feasible !== b.feasible) return a.feasible ? -1 : 1;
  return (a.feasible ? 0 : ascending(a.violation, b.violation)) || ascending(a.cost, b.cost);
}

/** Returns the metrics that the goal needs and the measurement lacks. */
export function missingMetrics(measurement: Measurement, candidate: Candidate, goal: Goal): readonly string[] {
  if (!served(measurement)) return [];
  return neededBy(goal).filter((name) => lookUp(name, measurement, candidate, goal) === undefined);
}

/**
 * The metric names that each goal needs, computed once, because every measurement of a study is
 * assessed against its goal.
 */
const needed = new WeakMap<Goal, readonly string[]>();

const namesIn = (terms: readonly { readonly metric: string }[]): readonly string[] => [
  ...new Set(terms.map(({ metric }) => metric)),
];

function neededBy(goal: Goal): readonly string[] {
  const names = needed.get(goal) ?? namesIn([...goal.objectives, ...listConstraints(goal)]);
  needed.set(goal, names);
  return names;
}

/**
 * Checks that the measurement has the goal's metrics. Errors: UNSUPPORTED, with each missing metric
 * and what it needs from the server.
 */
export function requireMetrics(measurement: Measurement, candidate: Candidate, goal: Goal): void {
  const missing = missingMetrics(measurement, candidate, goal).map((name) => toMetrics(goal).named(name));
  if (missing.length === 0) return;
  throw new TrituneError(
    'UNSUPPORTED',
    `the goal cannot be judged: ${missing.map((metric) => describeMissing(metric, measurement)).join('; ')}`,
    remedyFor(missing),
  );
}

/**
 * Returns the goal's constraints as one list: the budget, the constraints that were asked for, and
 * the limit on failed requests.
 */
export function listConstraints(goal: Goal): readonly Constraint[] {
  const budget: Constraint[] = goal.budget ? [{ metric: 'latency', relation: '<=', value: goal.budget.latencyMs }] : [];
  const limited = goal.constraints.some((constraint) => constraint.metric === 'error-rate');
  const errors: Constraint[] = limited ? [] : [{ metric: 'error-rate', relation: '<=', value: MAX_ERROR_RATE }];
  return [...budget, ...goal.constraints, ...errors];
}

/**
 * Returns the largest share of failed requests, 0 to 1, that a goal with these constraints allows.
 */
export function allowedErrorRate(constraints: readonly Constraint[]): number {
  const limits = constraints.filter(({ metric, relation }) => metric === 'error-rate' && relation === '<=');
  return limits.length > 0 ? Math.min(...limits.map(({ value }) => value)) : MAX_ERROR_RATE;
}

function computeCost(measurement: Measurement, candidate: Candidate, goal: Goal): number {
  const total = goal.objectives.reduce((sum, objective) => sum + objective.weight, 0);
  return goal.objectives.reduce((sum, { metric, weight }) => {
    const { follows } = toMetrics(goal).named(metric);
    const counted = follows?.smooth && follows.counted(measurement);
    const size =
      follows && counted
        ? computeSize(follows, counted, candidate, measurement)
        : toLog(requiredValue(metric, measurement, candidate, goal));
    return sum + (weight / total) * (toMetrics(goal).named(metric).better === 'higher' ? -size : size);
  }, 0);
}

const toLog = (value: number | undefined): number => Math.log(Math.max(value ?? Number.NaN, Number.MIN_VALUE));

/**
 * The weight of the stepless value in the cost of a value with steps. A thousandth: costs that
 * differ by one replica of hundreds keep their order, and among equal costs the one with the
 * smaller load per replica is lower.
 */
const TIE = 1e-3;

/** Returns the logarithm of a derived metric, plus a share that distinguishes equal values. */
export function computeSize(
  follows: Derivation,
  counted: readonly number[],
  candidate: Candidate,
  { device }: Pick<Measurement, 'device'>,
): number {
  const value = toLog(follows.of(counted, candidate, device));
  return follows.smooth ? (1 - TIE) * value + TIE * toLog(follows.smooth(counted, candidate, device)) : value;
}

/**
 * Returns half the 95 % interval of the cost, from the intervals of the objectives. An objective
 * without one counts as exact.
 */
export function costHalfWidth(measurement: Measurement, candidate: Candidate, goal: Goal): number {
  const total = goal.objectives.reduce((sum, objective) => sum + objective.weight, 0);
  return Math.hypot(
    ...goal.objectives.map(({ metric, weight }) => {
      const interval = toMetrics(goal).named(metric).interval?.of(measurement, candidate);
      return interval && interval.value > 0 ? (weight / total) * relativeHalfWidth(interval) : 0;
    }),
  );
}

function missedBy({ relation, value: limit }: Constraint, value: number): number {
  const excess = relation === '<=' ? value - limit : limit - value;
  return Math.max(0, limit > 0 ? excess / limit : excess);
}

/** Returns a metric's value; call it only after `requireMetrics` has passed. */
function requiredValue(name: string, measurement: Measurement, candidate: Candidate, goal: Goal): number {
  return lookUp(name, measurement, candidate, goal) as number;
}

function lookUp(name: string, measurement: Measurement, candidate: Candidate, goal: Goal): number | undefined {
  if (name === 'latency' && goal.budget) return budgetedLatencyMs(measurement, candidate, goal, goal.budget);
  return toMetrics(goal).read(name, measurement, candidate);
}

/**
 * The budget may be on another percentile than the measured one: a finished study can be ranked by
 * a new goal.
 */
function budgetedLatencyMs(
  measurement: Measurement,
  candidate: Candidate,
  goal: Goal,
  { percentile }: LatencyBudget,
): number | undefined {
  const isMeasured = measurement.budgetLatencyMs.percentile === percentile;
  const name = isMeasured ? 'latency' : `latency-p${percentile}`;
  return toMetrics(goal).has(name) ? toMetrics(goal).read(name, measurement, candidate) : undefined;
}

const served = (measurement: Measurement): boolean => measurement.throughput.value > 0;

const ascending = (a: number, b: number): number => (a < b ? -1 : a > b ? 1 : 0);
