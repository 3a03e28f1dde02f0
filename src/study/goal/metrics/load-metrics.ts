import { formatFigure } from '#base/format.ts';
import type { LatencySummary } from '#profiler/figure-schemas.ts';
import { summarizeLatencies } from '#profiler/latency-summary.ts';
import { latencyParts } from './latency-parts.ts';
import type { Metric, MetricColumn } from './metric.ts';

/**
 * One figure of the latencies. Its columns count from the sending of a request, also at a request
 * rate.
 */
const latency = (
  figure: keyof LatencySummary,
  label: string,
  description: string,
  columns: readonly MetricColumn[],
): Metric => ({
  name: `latency-${figure}`,
  label,
  description,
  ...latencyParts,
  read: (measurement) => summarizeLatencies(measurement)[figure],
  columns,
});

const sentColumn = (figure: keyof LatencySummary): MetricColumn => ({
  name: `latency_${figure}_ms`,
  read: ({ latencyMs }) => latencyMs[figure],
});

const scheduledColumn = (figure: keyof LatencySummary): MetricColumn => ({
  name: `scheduled_latency_${figure}_ms`,
  meaning: `${figure} of the latency, from when requests were due`,
  read: ({ openLoop }) => openLoop?.scheduledLatencyMs[figure],
});

/** Metrics that the load generator measures. */
export const loadMetrics: readonly Metric[] = [
  {
    name: 'throughput',
    label: 'throughput',
    description: 'inferences served per second: successful requests × batch',
    unit: 'infer/s',
    units: { 'infer/s': 1, '/s': 1 },
    better: 'higher',
    interval: { from: 'windows', of: ({ throughput }) => throughput },
    needs: [],
    read: ({ throughput }) => throughput.value,
    columns: [
      { name: 'throughput_infer_per_s', read: ({ throughput }) => throughput.value },
      { name: 'throughput_low', read: ({ throughput }) => throughput.low },
      { name: 'throughput_high', read: ({ throughput }) => throughput.high },
    ],
  },
  {
    name: 'latency',
    label: 'latency',
    description: 'the percentile of the latency budget (`--percentile`, default p99)',
    ...latencyParts,
    interval: { from: 'histogram', of: ({ budgetLatencyMs }) => budgetLatencyMs },
    read: ({ budgetLatencyMs }) => budgetLatencyMs.value,
    columns: [],
  },
  latency('avg', 'mean', 'mean latency', [sentColumn('avg')]),
  latency('p50', 'p50', 'median latency', [sentColumn('p50'), scheduledColumn('p50')]),
  latency('p90', 'p90', '90th percentile of the latency', [sentColumn('p90')]),
  latency('p95', 'p95', '95th percentile of the latency', [sentColumn('p95')]),
  latency('p99', 'p99', '99th percentile of the latency', [sentColumn('p99'), scheduledColumn('p99')]),
  latency('max', 'max', 'longest latency', []),
];

/** Failed requests: the limit of 1 % is in `goal.ts`. */
export const errorRate: Metric = {
  name: 'error-rate',
  label: 'failed',
  description: 'failed requests among all; without a constraint of its own at most 1 %',
  unit: 'fraction',
  units: { '%': 0.01 },
  better: 'lower',
  interval: null,
  needs: [],
  read: ({ errorRate }) => errorRate,
  format: (value) => `${formatFigure(100 * value)} %`,
  columns: [{ name: 'error_rate', read: ({ errorRate }) => errorRate }],
};
