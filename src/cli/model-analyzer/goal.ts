import { TrituneError } from '#base/errors.ts';
import type { FlatStudyOptions } from '#spec/tune-options.ts';
import type { AnalyzerFile, ModelSettings } from './schema.ts';

type Limits = NonNullable<ModelSettings['constraints']>;

/**
 * Model Analyzer's metrics by name, our name for each, and the unit of its figures if ours differs.
 */
const metrics: Readonly<Record<string, { readonly metric: string; readonly unit?: string }>> = {
  perf_throughput: { metric: 'throughput' },
  perf_latency: { metric: 'latency-p99', unit: 'ms' },
  perf_latency_avg: { metric: 'latency-avg', unit: 'ms' },
  perf_latency_p90: { metric: 'latency-p90', unit: 'ms' },
  perf_latency_p95: { metric: 'latency-p95', unit: 'ms' },
  perf_latency_p99: { metric: 'latency-p99', unit: 'ms' },
  perf_server_queue: { metric: 'queue-time', unit: 'ms' },
  gpu_used_memory: { metric: 'gpu-memory', unit: 'MB' },
  gpu_power_usage: { metric: 'gpu-power', unit: 'W' },
};

/** Known metrics that are not supported, with the reason. */
const unmeasured: readonly (readonly [RegExp, string])[] = [
  [/^gpu_utilization$/, 'Model Analyzer wants it high, and here a lower one is better'],
  [/^(gpu_free_memory|gpu_total_memory)$/, 'the memory in use is measured: gpu_used_memory'],
  [/^cpu_/, "Triton's metrics do not tell the memory of the host"],
  [/^perf_(client|server_compute)_/, 'it is measured, but is not an objective; perf_server_queue is one'],
  [/token/, 'figures of tokens are not measured'],
];

/** The percentiles that a budget can limit; the first one with a limit counts. */
const budgeted = ['perf_latency_p99', 'perf_latency_p95', 'perf_latency_p90'] as const;

/**
 * Returns what a model is tuned for: its own objectives and constraints, else those of the whole
 * file. `latency_budget` and `min_throughput` replace the constraints that they abbreviate.
 * Latencies are in milliseconds, memory in megabytes. The limit on a percentile becomes the budget,
 * unless `percentile` selects another one. Errors: UNSUPPORTED for a metric that is not measured.
 */
export function goalOptions(
  file: AnalyzerFile,
  settings: ModelSettings,
  percentile: number | undefined,
): Pick<FlatStudyOptions, 'objective' | 'constraint' | 'latencyBudget'> & { readonly percentile?: number } {
  const objectives = Object.entries(settings.objectives ?? file.objectives ?? {});
  const objective = objectives.map(([name, weight]) => `${toMetric(name, 'objective').metric}:${weight}`);
  const limits = withShorthands(settings.constraints ?? file.constraints ?? {}, file);
  const budget = budgeted.find((name) => limits[name]?.max !== undefined && fits(name, percentile));
  const constraint = Object.entries(limits).flatMap(([name, { min, max }]) => {
    const { metric, unit = '' } = toMetric(name, 'constraint');
    return [
      ...(min === undefined ? [] : [`${metric}>=${min}${unit}`]),
      ...(max === undefined || name === budget ? [] : [`${metric}<=${max}${unit}`]),
    ];
  });
  return {
    ...(objective.length > 0 && { objective }),
    ...(constraint.length > 0 && { constraint }),
    ...(budget && { latencyBudget: limits[budget]?.max as number, percentile: parsePercentile(budget) }),
  };
}

/** `perf_latency` is Model Analyzer's old name for the 99th percentile. */
function withShorthands({ perf_latency, ...limits }: Limits, { latency_budget, min_throughput }: AnalyzerFile): Limits {
  return {
    ...(perf_latency && { perf_latency_p99: perf_latency }),
    ...limits,
    ...(latency_budget !== undefined && { perf_latency_p99: { max: latency_budget } }),
    ...(min_throughput !== undefined && { perf_throughput: { ...limits.perf_throughput, min: min_throughput } }),
  };
}

const parsePercentile = (name: (typeof budgeted)[number]): number => Number(name.slice('perf_latency_p'.length));

const fits = (name: (typeof budgeted)[number], percentile: number | undefined): boolean =>
  percentile === undefined || parsePercentile(name) === percentile;

function toMetric(name: string, what: 'objective' | 'constraint'): { readonly metric: string; readonly unit?: string } {
  const known = Object.hasOwn(metrics, name) ? metrics[name] : undefined;
  if (known) return known;
  const reason = unmeasured.find(([pattern]) => pattern.test(name))?.[1] ?? 'there is no such metric';
  throw new TrituneError(
    'UNSUPPORTED',
    `'${name}' cannot be an ${what}: ${reason}`.replace('an constraint', 'a constraint'),
    `leave it out, or use one of ${Object.keys(metrics).join(', ')}`,
  );
}
