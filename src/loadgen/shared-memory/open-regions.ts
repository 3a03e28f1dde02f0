import { TrituneError } from '../../base/errors.ts';
import type { ModelConfig } from '../../triton/config/model-config.ts';
import type { SharedMemory } from '../../triton/types.ts';
import type { RequestSet, SharedPlace } from '../types.ts';
import { blocksOf, type Contents, type MemoryKind, type SharedBlock } from './blocks.ts';
import { layoutOfInputs, layoutOfOutputs } from './layout.ts';
import type { SharedOutputs } from './shared-outputs.ts';

/** The requests of a run and the most that it may have in flight. */
export interface RegionsPlan {
  readonly requests: RequestSet;
  readonly config: ModelConfig;
  readonly maxInFlight: number;
  /** Bytes for an output whose size is not known in advance. */
  readonly unknownOutputBytes: number;
  /** In the system's shared memory by default. */
  readonly memory?: MemoryKind | undefined;
}

/** Shared memory that is registered with one server: the inputs, written once, and room for outputs. */
export interface SharedRegions {
  readonly outputs: SharedOutputs;
  /** The requests with their inputs in shared memory. They are of the plan, or the same for another config. */
  placed(set: RequestSet): RequestSet;
  /** To be called when the traffic is over: unregisters our regions and no others, and frees the memory. Never throws. */
  close(): Promise<void>;
}

/** Encodings of one request in different slots that are kept, all requests together. */
const MAX_ENCODINGS = 65_536;
/** Requests are copied when they go to other threads; their values need not be. */
const NOT_HERE = new Uint8Array();

/**
 * Makes the regions, registers them, and cleans up after earlier runs that were killed. Errors: UNSUPPORTED without such
 * memory on this machine; SERVER_FAILED when the server cannot use it, as it is on another one.
 */
export async function openRegions(server: SharedMemory, plan: RegionsPlan): Promise<SharedRegions> {
  const inputs = layoutOfInputs(plan.requests);
  const { outputs, slotBytes } = layoutOfOutputs(plan.config, plan.requests.batch, plan.unknownOutputBytes);
  const source = blocksOf(plan.memory ?? { kind: 'system' });
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
        ...{ slotBytes, firstSlot: 0, slots, outputs },
        encodingsKept: Math.max(1, Math.floor(MAX_ENCODINGS / plan.requests.requests.length)),
      },
      placed: placing(input.name, inputs.offsets),
      close,
    };
  } catch (error) {
    await close();
    throw error;
  }
}

/** Gives the same set for the same set, so that what was encoded of it is not encoded anew. */
function placing(region: string, offsets: ReadonlyMap<Uint8Array, number>): (set: RequestSet) => RequestSet {
  const known = new Map<RequestSet, RequestSet>();
  const placeOf = (raw: Uint8Array): SharedPlace => {
    const offset = offsets.get(raw);
    if (offset === undefined)
      throw new TrituneError('INTERNAL', 'a tensor is not in shared memory', 'please report it');
    return { region, offset, byteSize: raw.byteLength };
  };
  return (set) => {
    const placed = known.get(set) ?? {
      ...set,
      requests: set.requests.map((request) => ({
        ...request,
        inputs: request.inputs.map((input) =>
          // An empty tensor is in no place.
          input.raw.byteLength === 0 ? input : { ...input, raw: NOT_HERE, shared: placeOf(input.raw) },
        ),
      })),
    };
    known.set(set, placed);
    return placed;
  };
}
