import type { Measurement } from '../../../profiler/measurement.ts';
import type { Candidate } from '../../../space/types.ts';
import type { Goal } from '../../types.ts';
import type { Metric, MetricNeed } from './metric.ts';
import { type Metrics, metricsOf } from './registry.ts';

/** A measurement and whose it is. */
export interface Measured {
  readonly candidate: Candidate;
  readonly measurement: Measurement;
}

/** Returns the goal's metrics but those in `placed`, which a table or panel shows anyway: objectives first, each once. */
export function goalMetrics(goal: Goal, placed: readonly string[]): readonly Metric[] {
  const names = new Set([...goal.objectives, ...goal.constraints].map(({ metric }) => metric));
  return [...names].filter((name) => !placed.includes(name)).map((name) => metricsOf(goal).named(name));
}

/** Returns the metrics, but those in `placed`, of which any of the measurements has a value; in the order of the registry. */
export function measuredMetrics(goal: Goal, placed: readonly string[], among: readonly Measured[]): readonly Metric[] {
  const metrics = metricsOf(goal);
  return metrics.all.filter(
    ({ name }) =>
      !placed.includes(name) &&
      among.some(({ candidate, measurement }) => metrics.read(name, measurement, candidate) !== undefined),
  );
}

/**
 * Returns the metrics that tables of these measurements have columns for: all, but those of language models where none was measured, goodput where
 * no request was held to limits, and those of cost without prices. Tables of language models have goodput's columns in any case, as those of
 * earlier versions.
 */
export function tableMetrics(metrics: Metrics, among: readonly Measurement[]): readonly Metric[] {
  const hasTokens = among.some(({ tokens }) => tokens !== undefined);
  const hasGoodput = hasTokens || among.some(({ goodput }) => goodput !== undefined);
  const absent = new Set<MetricNeed>(['prices', 'rate']);
  if (!hasTokens) absent.add('tokens');
  if (!hasGoodput) absent.add('limits');
  return metrics.all.filter(({ needs }) => !needs.some((need) => absent.has(need)));
}
