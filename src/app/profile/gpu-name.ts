import { followLines } from '#launch/follow-lines.ts';
import { gpuNames } from '#profiler/devices/gpu-names.ts';
import type { Measurement } from '#profiler/measurement.ts';
import type { ModelConfig } from '#triton/config/model-config.ts';
import { isOfThisMachine } from '../server/devices.ts';
import type { OpenServer } from '../server/open-server.ts';

/** Used if no tool knows the name. */
export const UNKNOWN_GPU = 'unknown GPU';

/**
 * Returns the names of the GPUs that the server reported during the measurement, or their UUIDs if
 * the server is on another machine. Names come from the driver's tool. null for a model that runs
 * on no GPU.
 */
export async function readGpuName(
  { server }: Pick<OpenServer, 'server'>,
  { instance_group: groups = [] }: ModelConfig,
  measurement: Pick<Measurement, 'device'> | undefined,
): Promise<string | null> {
  if (groups.length > 0 && groups.every(({ kind }) => kind === 'KIND_CPU')) return null;
  if (server.emulated !== null) return `emulated (${server.emulated})`;
  const names = isOfThisMachine(server.url) ? await gpuNames(followLines) : new Map<string, string>();
  const uuids = (measurement?.device.gpus ?? []).map(({ uuid }) => uuid);
  const foundGpuNames = uuids.length > 0 ? uuids.map((uuid) => names.get(uuid) ?? uuid) : [...names.values()];
  if (foundGpuNames.length > 0) return [...new Set(foundGpuNames)].join(', ');
  return groups.some(({ kind }) => kind === 'KIND_GPU') ? UNKNOWN_GPU : null;
}
