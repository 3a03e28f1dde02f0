import type { Measurement } from '#profiler/measurement.ts';
import type { Candidate } from '#space/types.ts';
import type { Goal } from '../../types.ts';
import type { Metric, MetricNeed } from './metric.ts';
import { type Metrics, toMetrics } from './registry.ts';

/** A measurement and its candidate. */
export interface Measured {
  readonly candidate: Candidate;
  readonly measurement: Measurement;
}

/**
 * Returns the goal's metrics except those in `placed`, which a table or panel shows anyway:
 * objectives first, each once.
 */
export function goalMetrics(goal: Goal, placed: readonly string[]): readonly Metric[] {
  const names = new Set([...goal.objectives, ...goal.constraints].map(({ metric }) => metric));
  return [...names].filter((name) => !placed.includes(name)).map((name) => toMetrics(goal).named(name));
}

/**
 * Returns the metrics that any of the measurements has a value of, except those in `placed`; in the
 * order of the registry.
 */
export function measuredMetrics(goal: Goal, placed: readonly string[], among: readonly Measured[]): readonly Metric[] {
  const metrics = toMetrics(goal);
  return metrics.all.filter(
    ({ name }) =>
      !placed.includes(name) &&
      among.some(({ candidate, measurement }) => metrics.read(name, measurement, candidate) !== undefined),
  );
}

/**
 * Returns the metrics that tables of these measurements have columns for. Left out are those of
 * language models if none was measured, goodput if no request had limits, and those of cost without
 * prices. Tables of language models always have goodput's columns, as in earlier versions.
 */
export function tableMetrics(metrics: Metrics, among: readonly Measurement[]): readonly Metric[] {
  const hasTokens = among.some(({ tokens }) => tokens !== undefined);
  const hasGoodput = hasTokens || among.some(({ goodput }) => goodput !== undefined);
  const absent = new Set<MetricNeed>(['prices', 'rate']);
  if (!hasTokens) absent.add('tokens');
  if (!hasGoodput) absent.add('limits');
  return metrics.all.filter(({ needs }) => !needs.some((need) => absent.has(need)));
}
