import { openRegions, type RegionsPlan, type SharedRegions } from '#loadgen/shared-memory/open-regions.ts';
import { type OpenOptions, openTransport } from '#loadgen/transports/open.ts';
import type { RequestSet, Transport } from '#loadgen/types.ts';
import type { TransportSpec } from '#spec/traffic-spec.ts';
import type { ModelConfig } from '#triton/config/model-config.ts';
import type { SharedMemory } from '#triton/types.ts';

/** perf_analyzer's default. */
const DEFAULT_OUTPUT_BYTES = 102_400;

/** The part of a plan that comes from the command line. */
type RegionOrder = Omit<RegionsPlan, 'unknownOutputBytes' | 'memory'>;

/** A transport, and the memory that it shares with the server, if any. */
export interface SharedTransport {
  readonly transport: Transport;
  /**
   * The options it was opened with. Another thread opens its own with its part of `sharedOutputs`.
   */
  readonly options: OpenOptions;
  readonly isShared: boolean;
  /** Returns the requests with their inputs in shared memory. */
  placed(set: RequestSet): RequestSet;
  /** Ends requests in flight, closes sockets, frees memory, and unregisters it on the server. */
  close(): Promise<void>;
}

/**
 * Opens the transport of the traffic to the server of `control`. Errors: USAGE for options that do
 * not work together; UNSUPPORTED if the machine has no such memory to share; SERVER_FAILED if the
 * server cannot use it.
 */
export async function openSharedTransport(
  protocol: 'grpc' | 'http',
  options: OpenOptions,
  flags: Pick<TransportSpec, 'sharedMemory' | 'outputSharedMemorySize'>,
  control: SharedMemory,
  plan: RegionOrder,
): Promise<SharedTransport> {
  const shared = await openSharedRegions(flags, control, plan);
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

/**
 * Returns the shared memory registered with the server, if the flags ask for any. Errors:
 * UNSUPPORTED, SERVER_FAILED.
 */
export async function openSharedRegions(
  {
    sharedMemory = 'none',
    outputSharedMemorySize: unknownOutputBytes = DEFAULT_OUTPUT_BYTES,
  }: Pick<TransportSpec, 'sharedMemory' | 'outputSharedMemorySize'>,
  control: SharedMemory,
  plan: RegionOrder,
): Promise<SharedRegions | undefined> {
  if (sharedMemory === 'none') return undefined;
  const memory = sharedMemory === 'system' ? ({ kind: 'system' } as const) : cudaMemoryFor(plan.config);
  return openRegions(control, { ...plan, unknownOutputBytes, memory });
}

/**
 * Returns the memory of the first GPU that has instances of the model, so that no data crosses
 * between GPUs.
 */
function cudaMemoryFor({ instance_group: groups = [] }: ModelConfig) {
  return { kind: 'cuda', device: groups.flatMap(({ gpus = [] }) => gpus)[0] ?? 0 } as const;
}
