import { formatMs } from '#base/format.ts';
import { parseRobustRule } from '#workload/robust-rule.ts';
import { metricText } from '../goal/metrics/format.ts';
import type { Metric } from '../goal/metrics/metric.ts';
import { partsOfName } from '../goal/metrics/of-model.ts';
import { builtInMetrics, type Metrics } from '../goal/metrics/registry.ts';
import type { Constraint } from '../types.ts';
import type { Summary } from './summary-schema.ts';

/** Times whose limits are on the study's percentile. */
const BY_PERCENTILE = ['latency', 'ttft', 'itl', 'tpot'];

/** Returns the label of a metric with the study's percentile, if it uses one: `p99 TTFT`. */
export const percentileLabel = ({ name, label }: Metric, percentile: number): string =>
  BY_PERCENTILE.includes(partsOfName(name).base) ? `p${percentile} ${label}` : label;

/**
 * Returns the limits of the goal as people write them: `p99 ≤ 32 ms and p99 TTFT ≤ 200 ms`; ''
 * without any.
 */
export function describeLimits(summary: Summary, metrics: Metrics = builtInMetrics): string {
  const { budget, constraints, best } = summary;
  const percentile = budget?.percentile ?? best?.budgetLatencyMs.percentile ?? 99;
  return [
    ...(budget ? [`p${budget.percentile} ≤ ${formatMs(budget.latencyMs)}`] : []),
    ...constraints.map((constraint) => describeLimit(constraint, percentile, metrics)),
  ].join(' and ');
}

/**
 * Returns one limit: `GPU memory ≤ 6,000 MiB`, `forecaster p99 ≤ 40 ms`. `percentile`: the
 * percentile of times that name none.
 */
export function describeLimit(
  { metric, relation, value }: Constraint,
  percentile: number,
  metrics: Metrics = builtInMetrics,
): string {
  const sign = relation === '<=' ? '≤' : '≥';
  // A program may have its own metrics, which a summary only names.
  if (!metrics.has(metric)) return `${metric} ${sign} ${value}`;
  const { base, model } = partsOfName(metric);
  const ownMetric = metrics.named(base);
  const label = base === 'latency' ? '' : ` ${ownMetric.label}`;
  const name = BY_PERCENTILE.includes(base) ? `p${percentile}${label}` : ownMetric.label;
  return `${model === undefined ? '' : `${model} `}${name} ${sign} ${metricText(metrics.named(metric), value)}`;
}

/**
 * Returns the workloads that the figures are of, if there are any: ` in the worst of 3 workloads`;
 * '' without any.
 */
export function describeStudied({ workloads }: Summary): string {
  if (!workloads) return '';
  const [first, ...others] = workloads.of;
  if (others.length === 0) return ` under the workload ${first?.name ?? ''}`;
  const rule = parseRobustRule(workloads.rule);
  const share = rule.kind === 'quantile' ? `${Math.round(100 * rule.share)} %` : `the ${rule.kind}`;
  return ` in ${share} of ${workloads.of.length} workloads`;
}
