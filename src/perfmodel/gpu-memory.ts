import { BYTES_PER_MIB } from '#base/units.ts';
import type { Measurement } from '#profiler/measurement.ts';

/** The memory of all GPUs together, in MiB, over all processes. */
export interface GpuMemory {
  readonly usedMib: number;
  /** null if the server does not report the total. */
  readonly totalMib: number | null;
}

/**
 * Returns the largest use while a config was served; null if the server does not report its GPUs.
 */
export function findGpuMemory(measurements: readonly Measurement[]): GpuMemory | null {
  const used = measurements.flatMap(({ device }) => device.gpuMemoryMiB ?? []);
  if (used.length === 0) return null;
  const totals = measurements.flatMap(({ device }) => {
    const bytes = (device.gpus ?? []).flatMap(({ memoryTotalBytes }) => memoryTotalBytes ?? []);
    return bytes.length > 0 ? [bytes.reduce((sum, each) => sum + each, 0) / BYTES_PER_MIB] : [];
  });
  return { usedMib: Math.max(...used), totalMib: totals[0] ?? null };
}
