import { ProtocolFailure } from '../wire/protocol-failure.ts';
import type { Device } from './device.ts';
import type { ModelSimulator } from './model-simulator.ts';
import type { Placement } from './placement.ts';

/** Each is a thread of a real server, and no machine starts more. */
const MOST_INSTANCES = 4096;

/**
 * Takes the device's memory for all instances of a model, in place of what it held before; in a full reload both are there for a
 * moment (Triton swaps them when the new one is loaded). Throws INVALID_ARGUMENT with
 * a backend's words when it refuses them, there are too many, or too little memory; then nothing has changed.
 */
export function admit(
  device: Device,
  owner: object,
  { instances, isOnDevice }: Placement,
  simulator: ModelSimulator,
  { isBeside = false }: { readonly isBeside?: boolean } = {},
): void {
  if (simulator.refusal !== null) throw new ProtocolFailure('INVALID_ARGUMENT', simulator.refusal);
  const most = Math.min(simulator.maxInstances, MOST_INSTANCES);
  if (instances > most)
    throw new ProtocolFailure(
      'INVALID_ARGUMENT',
      `failed to create instance ${most}: the model allows ${most} instances`,
    );
  const mib = isOnDevice ? simulator.memoryMib(instances) : 0;
  const { missingMib } = device.reserve(owner, mib, { isBeside });
  if (missingMib > 0) {
    throw new ProtocolFailure(
      'INVALID_ARGUMENT',
      `out of memory: failed to allocate ${Math.ceil(mib)} MiB for ${instances} instances ` +
        `(${Math.ceil(missingMib)} MiB too few of ${device.limitMib} MiB)`,
    );
  }
}
