import { Agent, request } from 'undici';
import { secureConnect } from '../triton/http-wire.ts';
import type { TlsOptions } from '../triton/tls.ts';
import { gpuMetrics, meanGpuMetrics } from './gpu-metrics.ts';
import type { DeviceMetrics } from './measurement.ts';
import { type MetricSample, parsePrometheus } from './prometheus.ts';

/** Reads the devices' state once; null when nothing can be read. Never throws. */
export type DeviceProbe = (signal: AbortSignal) => Promise<DeviceMetrics | null>;

const TIMEOUT_MS = 1000;
/** After so many failures in a row nobody is there, and asking would only cost time. */
const LAST_FAILURE = 3;
const BYTES_PER_MIB = 2 ** 20;

/**
 * A probe of Triton's metrics page (`http://HOST:8002/metrics`); `tls` is for an https:// address. The server renews its GPU figures every two seconds
 * unless told otherwise, so within a short measurement they may be older than it.
 */
export function metricsProbe(url: string, tls?: TlsOptions): DeviceProbe {
  const dispatcher = new Agent(tls && { connect: secureConnect(tls) });
  let failures = 0;
  return async (signal) => {
    if (failures >= LAST_FAILURE) return null;
    try {
      const response = await request(url, {
        dispatcher,
        signal: AbortSignal.any([signal, AbortSignal.timeout(TIMEOUT_MS)]),
      });
      const text = await response.body.text();
      if (response.statusCode !== 200) throw new Error(`status ${response.statusCode}`);
      failures = 0;
      return deviceMetrics(parsePrometheus(text));
    } catch {
      failures++;
      return null;
    }
  };
}

/**
 * The devices' figures on Triton's metrics page: utilisation is the mean over the GPUs, memory and power their sum. The
 * GPU family is absent without a GPU, and a GPU without a figure reports NaN or none.
 */
export function deviceMetrics(samples: readonly MetricSample[]): DeviceMetrics {
  const valuesOf = (name: string): number[] =>
    samples.filter((sample) => sample.name === name && Number.isFinite(sample.value)).map((sample) => sample.value);
  const utilization = meanOf(valuesOf('nv_gpu_utilization'));
  const memory = sumOf(valuesOf('nv_gpu_memory_used_bytes'));
  const power = sumOf(valuesOf('nv_gpu_power_usage'));
  const cpu = meanOf(valuesOf('nv_cpu_utilization'));
  const gpus = gpuMetrics(samples);
  return {
    ...(utilization !== null && { gpuUtilizationPercent: utilization * 100 }),
    ...(memory !== null && { gpuMemoryMiB: memory / BYTES_PER_MIB }),
    ...(power !== null && { gpuPowerW: power }),
    ...(cpu !== null && { cpuUtilizationPercent: cpu * 100 }),
    ...(gpus.length > 0 && { gpus }),
  };
}

/** Field by field, the mean over the readings that have it. */
export function meanDeviceMetrics(readings: readonly DeviceMetrics[]): DeviceMetrics {
  const fields = ['gpuUtilizationPercent', 'gpuMemoryMiB', 'gpuPowerW', 'cpuUtilizationPercent'] as const;
  const means = fields.flatMap((field) => {
    const mean = meanOf(readings.flatMap((reading) => reading[field] ?? []));
    return mean === null ? [] : [[field, mean]];
  });
  const gpus = meanGpuMetrics(readings.map((reading) => reading.gpus ?? []));
  return { ...Object.fromEntries(means), ...(gpus.length > 0 && { gpus }) };
}

const sumOf = (values: readonly number[]): number | null =>
  values.length === 0 ? null : values.reduce((total, value) => total + value, 0);

function meanOf(values: readonly number[]): number | null {
  const total = sumOf(values);
  return total === null ? null : total / values.length;
}
