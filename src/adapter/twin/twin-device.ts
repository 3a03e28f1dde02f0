import { BYTES_PER_MIB } from '#base/units.ts';
import type { EmulatorProfile } from '#emulator/profile/schema.ts';
import type { Attempt } from '#study/analysis/memory-attempts.ts';
import type { ModelConfig } from '#triton/config/model-config.ts';

/** The memory if nothing is known about it: more than any config needs. */
const PLENTY_MIB = 2 ** 24;

/**
 * Returns the device of the model; its memory is `limitMib` from refused loads, else the GPU's own
 * report.
 */
export function toDevice(
  config: ModelConfig,
  attempts: readonly Attempt[],
  limitMib: number | null,
): EmulatorProfile['device'] {
  const devices = attempts.flatMap(({ measurements }) => measurements.map(({ device }) => device));
  const gpus = devices.flatMap((device) => device.gpus ?? []);
  const totals = gpus.flatMap(({ memoryTotalBytes }) => (memoryTotalBytes ? [memoryTotalBytes / BYTES_PER_MIB] : []));
  const memory_mib = limitMib ?? totals[0] ?? PLENTY_MIB;
  const isOnGpu = (config.instance_group ?? []).some(({ kind, gpus: listed }) => kind === 'KIND_GPU' || listed?.length);
  if (!isOnGpu) return { kind: 'cpu', name: 'CPU of the twin', memory_mib };
  const watts = devices.flatMap(({ gpuPowerW }) => (gpuPowerW ? [gpuPowerW] : []));
  const power_w = { idle: Math.min(...watts, Number.MAX_SAFE_INTEGER), busy: Math.max(...watts, 0) };
  return {
    kind: 'gpu',
    name: 'GPU of the twin',
    count: Math.max(1, ...devices.map(({ gpus: shown = [] }) => shown.length)),
    memory_mib,
    power_w: watts.length > 0 ? power_w : { idle: 0, busy: 1 },
  };
}
