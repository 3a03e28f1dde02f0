import { Agent, request } from 'undici';
import { secureConnect } from '../triton/http-wire.ts';
import type { TlsOptions } from '../triton/tls.ts';
import { gpuMetrics, gpuTotals, meanGpuMetrics } from './gpu-metrics.ts';
import type { DeviceMetrics } from './measurement.ts';
import { type MetricSample, parsePrometheus } from './prometheus.ts';

/** Reads the devices' state once; null when nothing can be read. Never throws. */
export type DeviceProbe = (signal: AbortSignal) => Promise<DeviceMetrics | null>;

const TIMEOUT_MS = 1000;
/** After so many failures in a row nobody is there, and asking would only cost time. */
const LAST_FAILURE = 3;
/** The page of a thousand models is a hundredth of this. */
const MAX_PAGE_BYTES = 64 * 2 ** 20;

/**
 * A probe of Triton's metrics page (`http://HOST:8002/metrics`); of one that counts the inferences of other models but not of
 * `model`, nothing is taken: another server of that machine has the usual port. `tls` is for an https:// address. The server renews its GPU figures every two seconds
 * unless told otherwise, so within a short measurement they may be older than it.
 */
export function metricsProbe(url: string, model: string, tls?: TlsOptions): DeviceProbe {
  // No idle connection between readings: nobody would close the last one.
  const dispatcher = new Agent({
    pipelining: 0,
    maxResponseSize: MAX_PAGE_BYTES,
    ...(tls && { connect: secureConnect(tls) }),
  });
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
      const samples = parsePrometheus(text);
      if (isOfOthers(samples, model)) throw new Error('it is the page of another server');
      failures = 0;
      return deviceMetrics(samples);
    } catch {
      failures++;
      return null;
    }
  };
}

/** A loaded model is on the page of its server before its first request. */
function isOfOthers(samples: readonly MetricSample[], model: string): boolean {
  const counted = samples.filter(({ name }) => name === 'nv_inference_request_success');
  return counted.length > 0 && !counted.some(({ labels }) => labels.model === model);
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

const meanOf = (values: readonly number[]): number | null =>
  values.length === 0 ? null : values.reduce((total, value) => total + value, 0) / values.length;
