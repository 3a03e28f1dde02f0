import { TrituneError } from '../base/errors.ts';
import { openRegions, type RegionsPlan, type SharedRegions } from '../loadgen/shared-memory/open-regions.ts';
import { type OpenOptions, openTransport } from '../loadgen/transports/open.ts';
import type { RequestSet, Transport } from '../loadgen/types.ts';
import type { SharedMemory } from '../triton/types.ts';
import type { TransportFlags } from './transport-options.ts';

/** perf_analyzer's. */
const DEFAULT_OUTPUT_BYTES = 102_400;

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
 * UNSUPPORTED for CUDA's memory, and where the machine has none to share; SERVER_FAILED when the server cannot use it.
 */
export async function openSharedTransport(
  protocol: 'grpc' | 'http',
  options: OpenOptions,
  flags: Pick<TransportFlags, 'sharedMemory' | 'outputSharedMemorySize'>,
  control: SharedMemory,
  plan: Omit<RegionsPlan, 'unknownOutputBytes'>,
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
  }: Pick<TransportFlags, 'sharedMemory' | 'outputSharedMemorySize'>,
  control: SharedMemory,
  plan: Omit<RegionsPlan, 'unknownOutputBytes'>,
): Promise<SharedRegions | undefined> {
  if (sharedMemory === 'none') return undefined;
  if (sharedMemory === 'system') return openRegions(control, { ...plan, unknownOutputBytes });
  throw new TrituneError(
    'UNSUPPORTED',
    "a CUDA device's memory is shared by handles that only the CUDA library makes, and tritune does not load it",
    'use --shared-memory system, on the machine of the server',
  );
}
