import { BYTES_PER_MIB } from '#base/units.ts';
import type { DeviceMetrics, GpuMetrics } from '../server-figures.ts';
import type { MetricSample } from './prometheus.ts';

const MAX_UUID = 1024;
/** No server has more. */
const MAX_GPUS = 1024;

/** A utilization, a power or bytes of memory. */
const isFigure = (value: number): boolean => value >= 0 && value <= Number.MAX_SAFE_INTEGER;

/**
 * Returns the figures of each GPU on Triton's metrics page, by the label `gpu_uuid`; what cannot be
 * a figure counts as absent. None for a page of impossibly many.
 */
export function gpuMetrics(samples: readonly MetricSample[]): readonly GpuMetrics[] {
  const byGpu = new Map<string, Map<string, number>>();
  for (const { name, labels, value } of samples) {
    const uuid = labels.gpu_uuid;
    if (uuid === undefined || uuid.length > MAX_UUID || !isFigure(value)) continue;
    const sums = byGpu.get(uuid) ?? new Map<string, number>();
    if (!sums.has(name)) byGpu.set(uuid, sums.set(name, value));
  }
  if (byGpu.size > MAX_GPUS) return [];
  return [...byGpu].map(([uuid, sums]) => {
    const findFigure = (name: string): number | undefined => sums.get(name);
    const utilization = findFigure('nv_gpu_utilization');
    return withoutUndefined({
      uuid,
      utilizationPercent: utilization === undefined ? undefined : utilization * 100,
      powerW: findFigure('nv_gpu_power_usage'),
      clockMhz: undefined,
      memoryBytes: findFigure('nv_gpu_memory_used_bytes'),
      memoryTotalBytes: findFigure('nv_gpu_memory_total_bytes'),
      otherProcesses: undefined,
    });
  });
}

/**
 * Aggregates over all GPUs: the mean of utilisation, the sums of memory and power. Leaves out
 * figures that no GPU has.
 */
export function gpuTotals(gpus: readonly GpuMetrics[]): DeviceMetrics {
  const listValues = (of: (gpu: GpuMetrics) => number | undefined): number[] => gpus.flatMap((gpu) => of(gpu) ?? []);
  const utilization = listValues((gpu) => gpu.utilizationPercent);
  const memory = listValues((gpu) => gpu.memoryBytes);
  const power = listValues((gpu) => gpu.powerW);
  return {
    ...(utilization.length > 0 && { gpuUtilizationPercent: computeSum(utilization) / utilization.length }),
    ...(memory.length > 0 && { gpuMemoryMiB: computeSum(memory) / BYTES_PER_MIB }),
    ...(power.length > 0 && { gpuPowerW: computeSum(power) }),
  };
}

const computeSum = (values: readonly number[]): number => values.reduce((total, value) => total + value, 0);

/**
 * Aggregates several readings for each GPU: mean utilisation, power and clock, the largest memory,
 * and all programs.
 */
export function meanGpuMetrics(readings: readonly (readonly GpuMetrics[])[]): readonly GpuMetrics[] {
  return [...Map.groupBy(readings.flat(), ({ uuid }) => uuid)].map(([uuid, ofGpu]) => {
    const values = (of: (gpu: GpuMetrics) => number | undefined): number[] => ofGpu.flatMap((gpu) => of(gpu) ?? []);
    const mean = (list: readonly number[]): number | undefined =>
      list.length === 0 ? undefined : computeSum(list) / list.length;
    const most = (list: readonly number[]): number | undefined => (list.length === 0 ? undefined : Math.max(...list));
    return withoutUndefined({
      uuid,
      utilizationPercent: mean(values((gpu) => gpu.utilizationPercent)),
      powerW: mean(values((gpu) => gpu.powerW)),
      clockMhz: mean(values((gpu) => gpu.clockMhz)),
      memoryBytes: most(values((gpu) => gpu.memoryBytes)),
      memoryTotalBytes: values((gpu) => gpu.memoryTotalBytes)[0],
      otherProcesses: otherProcesses(ofGpu),
    });
  });
}

/** Returns the names of all programs that any of the readings has; undefined for none. */
function otherProcesses(readings: readonly GpuMetrics[]): readonly string[] | undefined {
  const names = new Set(readings.flatMap((gpu) => gpu.otherProcesses ?? []));
  return names.size === 0 ? undefined : [...names].sort();
}

type Loose<T> = { [K in keyof T]: T[K] | undefined };

const withoutUndefined = (gpu: Loose<Required<GpuMetrics>>): GpuMetrics =>
  Object.fromEntries(Object.entries(gpu).filter(([, value]) => value !== undefined)) as unknown as GpuMetrics;
