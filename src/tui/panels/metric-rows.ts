import type { Measurement } from '#profiler/measurement.ts';
import type { Candidate } from '#space/types.ts';
import { missedConstraints } from '#study/goal/goal.ts';
import { metricText } from '#study/goal/metrics/format.ts';
import type { Metric } from '#study/goal/metrics/metric.ts';
import { nameOfModel } from '#study/goal/metrics/of-model.ts';
import { toMetrics } from '#study/goal/metrics/registry.ts';
import { goalMetrics, measuredMetrics } from '#study/goal/metrics/shown.ts';
import type { Goal } from '#study/types.ts';
import { foreign, measureWidth, type Row, row, type Span, span } from '../rows.ts';

/**
 * Metrics that the panel of a trial shows elsewhere: its levels, the tokens by level, the bars of
 * the mean latency, the config.
 */
const TOLD_OTHERWISE = [
  ...['throughput', 'latency', 'queue-time', 'compute-time', 'instances', 'max-batch-size', 'gpus'],
  ...['ttft', 'itl', 'tpot', 'output-token-throughput', 'output-tokens-per-user'],
];

/** The clients' figures of each front of a mix, in separate rows. */
const toldOfFronts = ({ fronts = [] }: Measurement): readonly string[] =>
  fronts.flatMap(({ model }) => ['throughput', 'latency'].map((name) => nameOfModel(name, model)));

/**
 * Returns rows with the goal's metrics besides throughput and the budget, each with its limits;
 * empty if there are none.
 */
export function goalMetricRows(
  goal: Goal,
  candidate: Candidate,
  measurement: Measurement,
  width: number,
): readonly Row[] {
  const missed = missedConstraints(measurement, candidate, goal).map(({ metric }) => metric);
  const items = goalMetrics(goal, ['throughput', 'latency', ...toldOfFronts(measurement)]).map(
    (metric): readonly Span[] => {
      const limits = goal.constraints
        .filter((constraint) => constraint.metric === metric.name)
        .map(({ relation, value }) => `${relation === '<=' ? '≤' : '≥'} ${metricText(metric, value)}`);
      const limit = limits.length === 0 ? '' : ` (${limits.join(', ')})`;
      const text = `${formatText(metric, goal, candidate, measurement)}${limit}`;
      return [span(foreign(text), missed.includes(metric.name) ? 'bad' : undefined)];
    },
  );
  return section('the goal', items, width);
}

/**
 * Returns sections with all other measured metrics: of the devices, of the requests, and the rest.
 */
export function otherMetricSections(
  goal: Goal,
  candidate: Candidate,
  measurement: Measurement,
  width: number,
): readonly (readonly Row[])[] {
  const names = [...TOLD_OTHERWISE, ...goalMetrics(goal, []).map(({ name }) => name)];
  const others = measuredMetrics(goal, names, [{ candidate, measurement }]);
  const items = (of: readonly Metric[]): readonly Row[] =>
    of.map((metric) => row(foreign(formatText(metric, goal, candidate, measurement))));
  return sections.map((title) =>
    section(title, items(others.filter((metric) => chooseSection(metric) === title)), width),
  );
}

const sections = ['tokens', 'device', 'requests', 'other metrics'] as const;

function chooseSection({ needs }: Metric): (typeof sections)[number] {
  if (needs.includes('tokens')) return 'tokens';
  if (needs.includes('gpu-metrics') || needs.includes('host-metrics')) return 'device';
  return needs.length === 0 ? 'requests' : 'other metrics';
}

const formatText = (metric: Metric, goal: Goal, candidate: Candidate, measurement: Measurement): string =>
  `${metric.label} ${metricText(metric, toMetrics(goal).read(metric.name, measurement, candidate))}`;

const section = (title: string, items: readonly Row[], width: number): readonly Row[] =>
  items.length === 0 ? [] : [row(`  ${title}`, 'muted'), ...flowed(items, width)];

/** Returns the items in sequence, on as many rows as they need. */
export function flowed(items: readonly Row[], width: number): readonly Row[] {
  const rows: Row[] = [];
  for (const item of items) {
    const last = rows.at(-1);
    if (last && measureWidth(last) + 2 + measureWidth(item) <= width)
      rows[rows.length - 1] = [...last, span('  '), ...item];
    else rows.push([span('  '), ...item]);
  }
  return rows;
}
