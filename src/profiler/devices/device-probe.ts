import type { DeviceMetrics } from '../server-figures.ts';
import { gpuMetrics, gpuTotals, meanGpuMetrics } from './gpu-metrics.ts';
import type { PageAccess } from './metrics-page.ts';
import { metricsPage } from './metrics-page.ts';
import type { MetricSample } from './prometheus.ts';

/** Reads the devices' state once; null if nothing can be read. Never throws. */
export type DeviceProbe = (signal: AbortSignal) => Promise<DeviceMetrics | null>;

/**
 * Returns a probe of Triton's metrics page, as `metricsPage` reads it. By default the server renews
 * its GPU figures every two seconds, so they may be older than a short measurement.
 */
export function metricsProbe(url: string, model: string | null, access?: PageAccess): DeviceProbe {
  const page = metricsPage(url, model, access);
  return async (signal) => {
    const samples = await page(signal);
    return samples && deviceMetrics(samples);
  };
}

/**
 * Returns the devices' figures from Triton's metrics page: utilisation is the mean over the GPUs,
 * memory and power their sum. Without a GPU the page lacks the GPU family; a GPU without a figure
 * reports NaN or nothing.
 */
export function deviceMetrics(samples: readonly MetricSample[]): DeviceMetrics {
  const cpu = computeMean(
    samples
      .filter(({ name, value }) => name === 'nv_cpu_utilization' && Number.isFinite(value))
      .map(({ value }) => value),
  );
  const gpus = gpuMetrics(samples);
  return {
    ...gpuTotals(gpus),
    ...(cpu !== null && { cpuUtilizationPercent: cpu * 100 }),
    ...(gpus.length > 0 && { gpus }),
  };
}

/**
 * Returns for each field the mean over the readings that have it. GPU memory does not fluctuate, so
 * it takes the last reading: earlier ones may be from the moment when the server had two configs of
 * the model.
 */
export function meanDeviceMetrics(readings: readonly DeviceMetrics[]): DeviceMetrics {
  const fields = ['gpuUtilizationPercent', 'gpuPowerW', 'cpuUtilizationPercent'] as const;
  const means = fields.flatMap((field) => {
    const mean = computeMean(readings.flatMap((reading) => reading[field] ?? []));
    return mean === null ? [] : [[field, mean]];
  });
  const gpus = meanGpuMetrics(readings.map((reading) => reading.gpus ?? []));
  const gpuMemoryMiB = readings.flatMap((reading) => reading.gpuMemoryMiB ?? []).at(-1);
  return {
    ...Object.fromEntries(means),
    ...(gpuMemoryMiB !== undefined && { gpuMemoryMiB }),
    ...(gpus.length > 0 && { gpus }),
  };
}

const computeMean = (values: readonly number[]): number | null =>
  values.length === 0 ? null : values.reduce((total, value) => total + value, 0) / values.length;
