import { ProtocolFailure } from '../wire/protocol-failure.ts';
import type { DeviceMemory } from './device.ts';
import type { EmulatedModelSimulator } from './model-simulator.ts';
import { MAX_INSTANCES, type Placement } from './placement.ts';

/**
 * Reserves memory on each GPU for its instances, which are all instances of a model, and releases
 * what the model held before. During a full reload both exist for a moment (Triton swaps them once
 * the new one is loaded). Throws INVALID_ARGUMENT with a backend's message if it refuses them, if
 * there are too many, or if memory is too small; then nothing has changed.
 */
export function admit(
  device: DeviceMemory,
  owner: object,
  { instances, gpuOf }: Placement,
  simulator: EmulatedModelSimulator,
  { isBeside = false }: { readonly isBeside?: boolean } = {},
): void {
  if (simulator.refusal !== null) throw new ProtocolFailure('INVALID_ARGUMENT', simulator.refusal);
  const most = Math.min(simulator.maxInstances, MAX_INSTANCES);
  if (instances > most)
    throw new ProtocolFailure(
      'INVALID_ARGUMENT',
      `failed to create instance ${most}: the model allows ${most} instances`,
    );
  const lastGpu = Math.max(0, ...gpuOf.map((gpu) => gpu ?? -1));
  const mibs = Array.from({ length: lastGpu + 1 }, (_, gpu) => {
    const length = gpuOf.filter((each) => each === gpu).length;
    return length > 0 ? simulator.memoryMib(length) : 0;
  });
  const { missingMib } = device.reserve(owner, mibs, { isBeside });
  if (missingMib > 0) {
    throw new ProtocolFailure(
      'INVALID_ARGUMENT',
      `out of memory: failed to allocate ${Math.ceil(Math.max(...mibs))} MiB for ${instances} instances ` +
        `(${Math.ceil(missingMib)} MiB too few of ${device.limitMib} MiB)`,
    );
  }
}
