import type { Measurement } from '#profiler/measurement.ts';
import { findGoodput } from '#profiler/windows/class-figures.ts';
import type { Metric, MetricNeed } from './metric.ts';
import { partsOfName } from './of-model.ts';

/** A metric, and a need of it that the server does not meet. */
export interface UnmetNeed {
  readonly metric: Metric;
  readonly need: MetricNeed;
}

/**
 * Returns what a server provides, as one measurement or one reading of its metrics page shows it.
 * One GPU gauge is enough for a page to count as one with GPU metrics: a missing gauge of a metric
 * shows when that metric is read.
 */
export function needsMetBy({
  server,
  device,
  tokens,
  goodput,
}: Pick<Measurement, 'server' | 'device' | 'tokens' | 'goodput'>): ReadonlySet<MetricNeed> {
  const { gpuMemoryMiB, gpuUtilizationPercent, gpuPowerW, cpuUtilizationPercent } = device;
  const hasGpu = [gpuMemoryMiB, gpuUtilizationPercent, gpuPowerW].some((figure) => figure !== undefined);
  return new Set<MetricNeed>([
    'candidate',
    // If the config names its GPUs, nothing else needs to give their number.
    'gpu-count',
    ...(server === null ? [] : (['server-statistics'] as const)),
    ...(hasGpu ? (['gpu-metrics'] as const) : []),
    ...(cpuUtilizationPercent === undefined ? [] : (['host-metrics'] as const)),
    ...(tokens === undefined ? [] : (['tokens'] as const)),
    ...(findGoodput({ ...(tokens && { tokens }), ...(goodput && { goodput }) }) ? (['limits'] as const) : []),
  ]);
}

/** Returns the metrics with unmet needs, each with its first one. */
export function unmetNeeds(metrics: readonly Metric[], met: ReadonlySet<MetricNeed>): readonly UnmetNeed[] {
  return metrics.flatMap((metric) => {
    const need = metric.needs.find((each) => !met.has(each));
    return need === undefined ? [] : [{ metric, need }];
  });
}

const lacks: Readonly<Record<MetricNeed, string>> = {
  'server-statistics': "needs the server's statistics of the model, which it does not give",
  'gpu-metrics': "needs GPU metrics, which this server's page lacks",
  'host-metrics': "needs CPU metrics, which this server's page lacks",
  tokens: 'is about the tokens of a language model, and this one is asked with tensors',
  limits: 'has no limits to be counted by (--goodput)',
  candidate: 'is not told by this config',
  'gpu-count': 'needs to know how many GPUs the server has, which neither the config nor the metrics tell',
  prices: 'needs prices (--prices), and which of them count (--gpu or --instance-type)',
  rate: 'needs the rate that is to be served (--for-rate)',
};

/**
 * Returns why the metric cannot be read:
 * `gpu-power needs GPU metrics, which this server's page lacks`.
 */
export const describeUnmet = ({ metric, need }: UnmetNeed): string => `${metric.name} ${lacks[need]}`;

/**
 * Returns why this measurement has no value of the metric, by the first need that the server does
 * not meet.
 */
export function describeMissing(metric: Metric, measurement: Measurement): string {
  const met = needsMetBy(measurement);
  const need = metric.needs.find((each) => !met.has(each)) ?? metric.needs[0];
  if (need !== undefined) return describeUnmet({ metric, need });
  const { base, model } = partsOfName(metric.name);
  const isPercentile = model !== undefined && /^latency-/.test(base);
  const why = isPercentile ? `: of a model inside a pipeline the server tells only the mean, latency@${model}` : '';
  return `${metric.name} was not measured${why}`;
}

/** Returns what to do about it. */
export function remedyFor(metrics: readonly Metric[]): string {
  if (metrics.some(({ needs }) => needs.includes('gpu-count'))) return 'say how many GPUs it has with --server-gpus';
  const isOfPage = metrics.some(({ needs }) => needs.includes('gpu-metrics') || needs.includes('host-metrics'));
  const other = 'ask for another objective or constraint';
  return isOfPage ? `check --metrics-url and that the server runs with metrics on, or ${other}` : other;
}
