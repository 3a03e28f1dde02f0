import { TrituneError } from '#base/errors.ts';
import type { ModelConfig } from '#triton/config/model-config.ts';
import type { SharedMemory } from '#triton/types.ts';
import type { PreparedInputs } from '../inputs.ts';
import type { RequestSet, SharedPlace } from '../types.ts';
import { type Contents, type MemoryKind, type SharedBlock, takeBlocks } from './blocks.ts';
import { layoutOfInputs, layoutOfOutputs } from './layout.ts';
import type { SharedOutputs } from './shared-outputs.ts';

/** The requests of a run and its maximum number in flight. */
export interface RegionsPlan {
  /**
   * All inputs that will be sent, made for shared memory: each piece of their values has a buffer
   * of its own.
   */
  readonly inputs: readonly Pick<PreparedInputs, 'values' | 'mostBatch' | 'requests'>[];
  readonly config: ModelConfig;
  readonly maxInFlight: number;
  /** Bytes for an output of unknown size. */
  readonly unknownOutputBytes: number;
  /** In the system's shared memory by default. */
  readonly memory?: MemoryKind | undefined;
}

/**
 * Shared memory that is registered with one server: the inputs, written once, and room for outputs.
 */
export interface SharedRegions {
  readonly outputs: SharedOutputs;
  /**
   * Returns the requests with their inputs in shared memory. Their values must be those of the
   * plan.
   */
  placed(set: RequestSet): RequestSet;
  /**
   * Call this after the traffic: unregisters our regions only, and frees the memory. Never throws.
   */
  close(): Promise<void>;
}

/** The maximum number of cached encodings of requests in different slots, over all requests. */
const MAX_ENCODINGS = 65_536;
/** Requests are copied to other threads; their values need not be. */
const NOT_HERE = new Uint8Array();

/**
 * Creates and registers the regions, and cleans up after earlier runs that were killed. Errors:
 * UNSUPPORTED without such memory on this machine; SERVER_FAILED if the server cannot use it, for
 * example because it is on another machine.
 */
export async function openRegions(server: SharedMemory, plan: RegionsPlan): Promise<SharedRegions> {
  const inputs = layoutOfInputs(plan.inputs.flatMap(({ values }) => values));
  const mostBatch = Math.max(...plan.inputs.map((each) => each.mostBatch));
  const mostRequests = Math.max(...plan.inputs.map(({ requests }) => requests.length));
  const { outputs, slotBytes } = layoutOfOutputs(plan.config, mostBatch, plan.unknownOutputBytes);
  const source = takeBlocks(plan.memory ?? { kind: 'system' });
  const slots = plan.maxInFlight + source.spareSlots;
  const blocks: SharedBlock[] = [];
  const close = async (): Promise<void> => {
    for (const block of blocks.splice(0)) await block.close();
  };
  const create = async (what: 'in' | 'out', byteSize: number, contents: Contents): Promise<SharedBlock> => {
    const block = await source.create(server, what, byteSize, contents);
    blocks.push(block);
    return block;
  };
  try {
    const input = await create('in', inputs.byteSize, inputs.offsets);
    const output = await create('out', slots * slotBytes, new Map());
    await source.cleanUp(server);
    return {
      outputs: {
        region: output.name,
        memory: output.place,
        slotBytes,
        firstSlot: 0,
        slots,
        outputs,
        encodingsKept: Math.max(1, Math.floor(MAX_ENCODINGS / mostRequests)),
      },
      placed: placing(input.name, inputs.offsets),
      close,
    };
  } catch (error) {
    await close();
    throw error;
  }
}

/** Returns the same set for the same input, so that it is not encoded again. */
function placing(region: string, offsets: ReadonlyMap<Uint8Array, number>): (set: RequestSet) => RequestSet {
  const known = new Map<RequestSet, RequestSet>();
  const starts = new Map([...offsets].map(([{ buffer, byteOffset }, offset]) => [buffer, offset - byteOffset]));
  const toPlace = ({ buffer, byteOffset, byteLength }: Uint8Array): SharedPlace => {
    const start = starts.get(buffer);
    if (start === undefined) throw new TrituneError('INTERNAL', 'a tensor is not in shared memory', 'please report it');
    return { region, offset: start + byteOffset, byteSize: byteLength };
  };
  return (set) => {
    const placed = known.get(set) ?? {
      ...set,
      requests: set.requests.map((request) => ({
        ...request,
        inputs: request.inputs.map((input) =>
          // An empty tensor has no place.
          input.raw.byteLength === 0 ? input : { ...input, raw: NOT_HERE, shared: toPlace(input.raw) },
        ),
      })),
    };
    known.set(set, placed);
    return placed;
  };
}
