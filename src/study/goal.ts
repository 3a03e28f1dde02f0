import { TrituneError } from '../base/errors.ts';
import type { Measurement } from '../profiler/measurement.ts';
import type { Candidate } from '../space/types.ts';
import type { Interval } from '../stats/interval.ts';
import { relativeHalfWidth } from '../stats/precision.ts';
import { metricNamed, readMetric } from './metrics.ts';
import type { Constraint, Goal, LatencyBudget } from './types.ts';

/** More failed requests than this make a measurement infeasible, unless the goal has a constraint on `error-rate`. */
const MAX_ERROR_RATE = 0.01;

/**
 * How a measurement stands to the goal. `cost` is comparable between measurements of one goal, lower is better: the
 * weighted mean over the objectives of ±ln(value), so that equal ratios count alike whatever the unit, and one
 * objective's weight does not depend on its scale. `violation` is 0 when feasible, else the sum of what each constraint
 * is missed by, relative to its limit.
 */
export interface Assessment {
  readonly feasible: boolean;
  readonly cost: number;
  readonly violation: number;
}

/**
 * A measurement that served nothing, or that the load generator limited, or that ended by its errors, is as far from the
 * goal as can be. Errors:
 * UNSUPPORTED when the goal needs a metric that the measurement lacks.
 */
export function assess(measurement: Measurement, candidate: Candidate, goal: Goal): Assessment {
  if (!served(measurement) || measurement.client.bound || measurement.tooManyErrors)
    return { feasible: false, cost: Number.POSITIVE_INFINITY, violation: Number.POSITIVE_INFINITY };
  requireMetrics(measurement, candidate, goal);
  const violation = constraintsOf(goal).reduce(
    (sum, constraint) => sum + missedBy(constraint, requiredValue(constraint.metric, measurement, candidate, goal)),
    0,
  );
  return { feasible: violation === 0, cost: costOf(measurement, candidate, goal), violation };
}

/** True when the measurement has every metric that the goal needs and meets every constraint. */
export function isFeasible(measurement: Measurement, candidate: Candidate, goal: Goal): boolean {
  return missingMetrics(measurement, candidate, goal).length === 0 && assess(measurement, candidate, goal).feasible;
}

/** The constraints that the measurement misses, those of which it has the metric; the budget first. */
export function missedConstraints(measurement: Measurement, candidate: Candidate, goal: Goal): readonly Constraint[] {
  return constraintsOf(goal).filter((constraint) => {
    const value = lookUp(constraint.metric, measurement, candidate, goal);
    return value !== undefined && missedBy(constraint, value) > 0;
  });
}

/** For sorting, the best first: the feasible by cost, after them the infeasible by violation. */
export function compareAssessments(a: Assessment, b: Assessment): number {
  if (a.feasible !== b.feasible) return a.feasible ? -1 : 1;
  return (a.feasible ? 0 : ascending(a.violation, b.violation)) || ascending(a.cost, b.cost);
}

/** The metrics that the goal needs and the measurement lacks. */
export function missingMetrics(measurement: Measurement, candidate: Candidate, goal: Goal): readonly string[] {
  if (!served(measurement)) return [];
  return neededBy(goal).filter((name) => lookUp(name, measurement, candidate, goal) === undefined);
}

/** Of each goal once: it is held against every measurement of a study. */
const needed = new WeakMap<Goal, readonly string[]>();

const namesIn = (asked: readonly { readonly metric: string }[]): readonly string[] => [
  ...new Set(asked.map(({ metric }) => metric)),
];

function neededBy(goal: Goal): readonly string[] {
  const names = needed.get(goal) ?? namesIn([...goal.objectives, ...constraintsOf(goal)]);
  needed.set(goal, names);
  return names;
}

/** Errors: UNSUPPORTED, naming the metrics that the server or the measurement does not have. */
export function requireMetrics(measurement: Measurement, candidate: Candidate, goal: Goal): void {
  const missing = missingMetrics(measurement, candidate, goal);
  if (missing.length === 0) return;
  throw new TrituneError(
    'UNSUPPORTED',
    `the goal needs ${missing.join(' and ')}, which this server does not report`,
    'check --metrics-url and that the server runs with metrics on, or ask for another objective or constraint',
  );
}

/** The goal's constraints as one list: the budget, the asked ones, and the limit on failed requests. */
export function constraintsOf(goal: Goal): readonly Constraint[] {
  const budget: Constraint[] = goal.budget ? [{ metric: 'latency', relation: '<=', value: goal.budget.latencyMs }] : [];
  const limited = goal.constraints.some((constraint) => constraint.metric === 'error-rate');
  const errors: Constraint[] = limited ? [] : [{ metric: 'error-rate', relation: '<=', value: MAX_ERROR_RATE }];
  return [...budget, ...goal.constraints, ...errors];
}

function costOf(measurement: Measurement, candidate: Candidate, goal: Goal): number {
  const total = goal.objectives.reduce((sum, objective) => sum + objective.weight, 0);
  return goal.objectives.reduce((sum, { metric, weight }) => {
    const size = Math.log(Math.max(requiredValue(metric, measurement, candidate, goal), Number.MIN_VALUE));
    return sum + (weight / total) * (metricNamed(metric).better === 'higher' ? -size : size);
  }, 0);
}

/**
 * Half the 95 % interval of the cost, from the intervals that a measurement has: of throughput and of the budgeted
 * percentile. Other objectives count as exact.
 */
export function costHalfWidth({ throughput, budgetLatencyMs }: Measurement, goal: Goal): number {
  const total = goal.objectives.reduce((sum, objective) => sum + objective.weight, 0);
  const intervals: Readonly<Record<string, Interval>> = { throughput, latency: budgetLatencyMs };
  return Math.hypot(
    ...goal.objectives.map(({ metric, weight }) => {
      const interval = intervals[metric];
      return interval && interval.value > 0 ? (weight / total) * relativeHalfWidth(interval) : 0;
    }),
  );
}

function missedBy({ relation, value: limit }: Constraint, value: number): number {
  const excess = relation === '<=' ? value - limit : limit - value;
  return Math.max(0, limit > 0 ? excess / limit : excess);
}

/** Only when `requireMetrics` has passed. */
function requiredValue(name: string, measurement: Measurement, candidate: Candidate, goal: Goal): number {
  return lookUp(name, measurement, candidate, goal) as number;
}

function lookUp(name: string, measurement: Measurement, candidate: Candidate, goal: Goal): number | undefined {
  if (name === 'latency' && goal.budget) return percentileOf(measurement, candidate, goal.budget);
  return readMetric(name, measurement, candidate);
}

/** A budget may be on another percentile than the one measured for: a finished study can be ranked by a new goal. */
function percentileOf(measurement: Measurement, candidate: Candidate, budget: LatencyBudget): number | undefined {
  if (measurement.budgetLatencyMs.percentile === budget.percentile)
    return readMetric('latency', measurement, candidate);
  const known = [50, 90, 95, 99].includes(budget.percentile);
  return known ? readMetric(`latency-p${budget.percentile}`, measurement, candidate) : undefined;
}

const served = (measurement: Measurement): boolean => measurement.throughput.value > 0;

const ascending = (a: number, b: number): number => (a < b ? -1 : a > b ? 1 : 0);
