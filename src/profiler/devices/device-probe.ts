import type { TlsOptions } from '../../triton/wire/tls.ts';
import type { DeviceMetrics } from '../measurement.ts';
import { gpuMetrics, gpuTotals, meanGpuMetrics } from './gpu-metrics.ts';
import { metricsPage } from './metrics-page.ts';
import type { MetricSample } from './prometheus.ts';

/** Reads the devices' state once; null when nothing can be read. Never throws. */
export type DeviceProbe = (signal: AbortSignal) => Promise<DeviceMetrics | null>;

/**
 * A probe of Triton's metrics page, as `metricsPage` reads it. The server renews its GPU figures every two seconds unless told
 * otherwise, so within a short measurement they may be older than it.
 */
export function metricsProbe(url: string, model: string, tls?: TlsOptions): DeviceProbe {
  const page = metricsPage(url, model, tls);
  return async (signal) => {
    const samples = await page(signal);
    return samples && deviceMetrics(samples);
  };
}

/**
 * The devices' figures on Triton's metrics page: utilisation is the mean over the GPUs, memory and power their sum. The
 * GPU family is absent without a GPU, and a GPU without a figure reports NaN or none.
 */
export function deviceMetrics(samples: readonly MetricSample[]): DeviceMetrics {
  const cpu = meanOf(
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
 * Field by field, the mean over the readings that have it; of the memory of the GPUs, which does not fluctuate, the last one: those before
 * may be of the moment in which the server had two configs of the model.
 */
export function meanDeviceMetrics(readings: readonly DeviceMetrics[]): DeviceMetrics {
  const fields = ['gpuUtilizationPercent', 'gpuPowerW', 'cpuUtilizationPercent'] as const;
  const means = fields.flatMap((field) => {
    const mean = meanOf(readings.flatMap((reading) => reading[field] ?? []));
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

const meanOf = (values: readonly number[]): number | null =>
  values.length === 0 ? null : values.reduce((total, value) => total + value, 0) / values.length;
