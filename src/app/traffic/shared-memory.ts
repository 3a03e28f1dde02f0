import { openRegions, type RegionsPlan, type SharedRegions } from '../../loadgen/shared-memory/open-regions.ts';
import { type OpenOptions, openTransport } from '../../loadgen/transports/open.ts';
import type { RequestSet, Transport } from '../../loadgen/types.ts';
import type { TransportSpec } from '../../spec/traffic-spec.ts';
import type { ModelConfig } from '../../triton/config/model-config.ts';
import type { SharedMemory } from '../../triton/types.ts';

/** perf_analyzer's. */
const DEFAULT_OUTPUT_BYTES = 102_400;

/** The command line says the rest. */
type AskedRegions = Omit<RegionsPlan, 'unknownOutputBytes' | 'memory'>;

/** A transport, and the memory that it shares with the server if the user wants that. */
export interface SharedTransport {
  readonly transport: Transport;
  /** With which it was opened; another thread opens its own with `sharedOutputs` of its part. */
  readonly options: OpenOptions;
  readonly isShared: boolean;
  /** The requests as they are to be sent: with their inputs in shared memory. */
  placed(set: RequestSet): RequestSet;
  /** Ends what is in flight, lets go of sockets and memory, and tells the server. */
  close(): Promise<void>;
}

/**
 * Opens the transport of the traffic to the server of `control`. Errors: USAGE for options that do not go together;
 * UNSUPPORTED where the machine has no such memory to share; SERVER_FAILED when the server cannot use it.
 */
export async function openSharedTransport(
  protocol: 'grpc' | 'http',
  options: OpenOptions,
  flags: Pick<TransportSpec, 'sharedMemory' | 'outputSharedMemorySize'>,
  control: SharedMemory,
  plan: AskedRegions,
): Promise<SharedTransport> {
  const shared = await sharedRegionsOf(flags, control, plan);
  try {
    const all = { ...options, sharedOutputs: shared?.outputs };
    const transport = openTransport(protocol, all);
    return {
      transport,
      options: all,
      isShared: shared !== undefined,
      placed: (set) => shared?.placed(set) ?? set,
      close: async () => {
        try {
          await transport.close();
        } finally {
          await shared?.close();
        }
      },
    };
  } catch (error) {
    await shared?.close();
    throw error;
  }
}

/** Shared memory that is registered with the server, if the flags want any. Errors: UNSUPPORTED, SERVER_FAILED. */
export async function sharedRegionsOf(
  {
    sharedMemory = 'none',
    outputSharedMemorySize: unknownOutputBytes = DEFAULT_OUTPUT_BYTES,
  }: Pick<TransportSpec, 'sharedMemory' | 'outputSharedMemorySize'>,
  control: SharedMemory,
  plan: AskedRegions,
): Promise<SharedRegions | undefined> {
  if (sharedMemory === 'none') return undefined;
  const memory = sharedMemory === 'system' ? ({ kind: 'system' } as const) : cudaMemoryFor(plan.config);
  return openRegions(control, { ...plan, unknownOutputBytes, memory });
}

/** Returns the memory of the first GPU that has instances of the model, so that nothing crosses from one GPU to another. */
function cudaMemoryFor({ instance_group: groups = [] }: ModelConfig) {
  return { kind: 'cuda', device: groups.flatMap(({ gpus = [] }) => gpus)[0] ?? 0 } as const;
}
