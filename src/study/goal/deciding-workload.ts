import type { Measurement, WorkloadMeasurement } from '#profiler/measurement.ts';
import type { Candidate } from '#space/types.ts';
import { decidingIndex, parseRobustRule } from '#workload/robust-rule.ts';
import type { StartedWorkloads } from '../records/records.ts';
import type { Goal } from '../types.ts';
import { toMetrics } from './metrics/registry.ts';

/**
 * Returns the workload that decides a measurement: the one whose budgeted percentile the rule
 * takes. Without a budget, the one whose share of its requested rate, in the first objective, the
 * rule takes. null if the measurement has no separate workloads, and for a mean, to which all
 * contribute.
 */
export function decidingWorkload(
  { workloads, level }: Measurement,
  candidate: Candidate,
  goal: Goal,
  studied: Pick<StartedWorkloads, 'rule'> | undefined,
): WorkloadMeasurement | null {
  if (!workloads || !studied) return null;
  const rule = parseRobustRule(studied.rule);
  if (rule.kind === 'mean') return null;
  const read = goal.budget
    ? ({ budgetLatencyMs }: WorkloadMeasurement) => budgetLatencyMs.value
    : createObjective(candidate, goal, level.value);
  const better = goal.budget ? 'lower' : toMetrics(goal).named(firstObjective(goal)).better;
  const figures = workloads.map((each) => ({ weight: each.weight, value: read(each) ?? Number.NaN }));
  if (figures.some(({ value }) => Number.isNaN(value))) return null;
  return workloads[decidingIndex(rule, better, figures)] ?? null;
}

const firstObjective = ({ objectives }: Goal): string => objectives[0]?.metric ?? 'throughput';

/**
 * A rate counts relative to the rate that its workload requests; any other figure counts as it is.
 */
function createObjective(candidate: Candidate, goal: Goal, level: number) {
  const metric = toMetrics(goal).named(firstObjective(goal));
  const isRate = metric.unit.endsWith('/s');
  return (each: WorkloadMeasurement): number | undefined => {
    const value = metric.read(each, candidate);
    return value === undefined || !isRate ? value : (value * level) / each.level.value;
  };
}
