import type { InstanceGroup, ModelConfig } from '#triton/config/model-config.ts';
import { ProtocolFailure } from '../wire/protocol-failure.ts';

/** Each instance is a thread of a real server, and no machine starts more. */
export const MAX_INSTANCES = 4096;

/** The devices that instances can be placed on. */
export interface Placeable {
  readonly gpus: number;
}

/**
 * The config with a definite kind and definite GPUs for every instance group, and the resulting
 * instances.
 */
export interface Placement {
  readonly config: ModelConfig;
  readonly instances: number;
  /**
   * The GPU of each instance, in start order: one on each GPU of a group before the second ones. 0
   * on a machine whose only device is its CPU; null on the CPU of a machine with GPUs, which uses
   * none of these. Empty for more than MAX_INSTANCES, which are never admitted.
   */
  readonly gpuOf: readonly (number | null)[];
}

/**
 * Triton's placement of instance groups: KIND_AUTO takes GPUs if there are any, a count holds for
 * each listed GPU.
 */
export function place(model: string, config: ModelConfig, device: Placeable): Placement {
  if (config.ensemble_scheduling) return { config, instances: 1, gpuOf: [null] };
  const groups = (config.instance_group ?? [{}]).map((group, index) => placeGroup(model, config, group, index, device));
  const instances = groups.reduce((sum, { count = 1, gpus = [] }) => sum + count * Math.max(1, gpus.length), 0);
  const gpuOf = instances > MAX_INSTANCES ? [] : groups.flatMap((group) => listGpus(group, device));
  return { config: { ...config, instance_group: groups }, instances, gpuOf };
}

/** The backend places an instance of KIND_MODEL: on the first GPU. */
function listGpus({ kind, count = 1, gpus = [] }: InstanceGroup, { gpus: all }: Placeable): readonly (number | null)[] {
  const where = kind === 'KIND_CPU' && all > 0 ? [null] : gpus.length > 0 ? gpus : [0];
  return Array.from({ length: count }, () => where).flat();
}

function placeGroup(
  model: string,
  config: ModelConfig,
  group: InstanceGroup,
  index: number,
  device: Placeable,
): InstanceGroup {
  const name = group.name || `${model}_${index}`;
  const count = Math.max(1, group.count ?? 1);
  const listed = group.gpus ?? [];
  const requestedKind = group.kind ?? 'KIND_AUTO';
  const kind = requestedKind === 'KIND_AUTO' ? (device.gpus > 0 ? 'KIND_GPU' : 'KIND_CPU') : requestedKind;
  const who = `instance group ${name} of model ${model}`;
  if (kind === 'KIND_CPU' && listed.length > 0 && requestedKind === 'KIND_CPU')
    refuse(`${who} has kind KIND_CPU but specifies one or more GPUs`);
  const missing = listed.find((gpu) => gpu < 0 || gpu >= device.gpus);
  if (missing !== undefined) {
    refuse(
      `${who} specifies invalid or unsupported gpu id ${missing}. GPUs with at least the minimum required CUDA ` +
        `compute compatibility of 6.000000 are: ${Array.from({ length: device.gpus }, (_, gpu) => gpu).join(' ')}`,
    );
  }
  if (kind === 'KIND_GPU' && device.gpus === 0) refuse(`${who} has kind KIND_GPU but no GPUs are available`);
  if (kind !== 'KIND_GPU' && (config.backend === 'tensorrt' || config.platform === 'tensorrt_plan'))
    refuse(`load failed for model '${model}': TensorRT backend supports only GPU device`);
  const gpus = kind !== 'KIND_GPU' ? [] : listed.length > 0 ? listed : Array.from({ length: device.gpus }, (_, g) => g);
  const { gpus: _, ...rest } = group;
  return { ...rest, name, count, kind, ...(gpus.length > 0 ? { gpus } : {}) };
}

function refuse(message: string): never {
  throw new ProtocolFailure('INVALID_ARGUMENT', message);
}
