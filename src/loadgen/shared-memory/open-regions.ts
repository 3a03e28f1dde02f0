import { closeSync, openSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import { isTrituneError, TrituneError } from '../../base/errors.ts';
import type { ModelConfig } from '../../triton/model-config.ts';
import type { SharedMemory } from '../../triton/types.ts';
import type { RequestSet, SharedPlace } from '../types.ts';
import { layoutOfInputs, layoutOfOutputs } from './layout.ts';
import { isRemains } from './owner.ts';
import { createSharedObject, removeRemains, type SharedObject, writeShared } from './shared-object.ts';
import type { SharedOutputs } from './shared-outputs.ts';

/** What a run sends, and what it may have in flight at most. */
export interface RegionsPlan {
  readonly requests: RequestSet;
  readonly config: ModelConfig;
  readonly maxInFlight: number;
  /** Of outputs whose size cannot be known before. */
  readonly unknownOutputBytes: number;
}

/** System shared memory that is registered with one server: the inputs, written once, and room for outputs. */
export interface SharedRegions {
  readonly outputs: SharedOutputs;
  /** The requests with their inputs in shared memory. They are of the plan, or the same for another config. */
  placed(set: RequestSet): RequestSet;
  /** To be called when the traffic is over: unregisters our regions and no others, and frees the memory. Never throws. */
  close(): Promise<void>;
}

/** Slots beyond the most in flight, for requests that ended without a word of the server's. */
const SPARE_SLOTS = 256;
/** Encodings of one request in different slots that are kept, all requests together. */
const MAX_ENCODINGS = 65_536;
const PAGE_BYTES = 4096;
/** Requests are copied when they go to other threads; their values need not be. */
const NOT_HERE = new Uint8Array();
/** How long a server that is still at requests that we gave up on is asked again to let go. */
const LET_GO_MS = 10_000;
const ASK_AGAIN_MS = 50;

/**
 * Makes the regions, registers them, and cleans up after earlier runs that were killed. Errors: UNSUPPORTED without shared
 * memory on this machine; SERVER_FAILED when the server cannot use it, as it is on another one.
 */
export async function openRegions(server: SharedMemory, plan: RegionsPlan): Promise<SharedRegions> {
  const inputs = layoutOfInputs(plan.requests);
  const { outputs, slotBytes } = layoutOfOutputs(plan.config, plan.requests.batch, plan.unknownOutputBytes);
  const slots = plan.maxInFlight + SPARE_SLOTS;
  const objects: SharedObject[] = [];
  const close = async (): Promise<void> => {
    for (const object of objects.splice(0)) {
      object.remove();
      await letGo(server, object.name);
    }
  };
  const create = async (what: 'in' | 'out', bytes: number, fill: (fd: number) => void): Promise<SharedObject> => {
    const byteSize = Math.ceil(Math.max(bytes, 1) / PAGE_BYTES) * PAGE_BYTES;
    const object = createSharedObject(what, byteSize);
    objects.push(object);
    const fd = openSync(object.path, 'r+');
    try {
      fill(fd);
    } finally {
      closeSync(fd);
    }
    await server.registerSharedMemory({ name: object.name, key: `/${object.name}`, offset: 0, byteSize });
    return object;
  };
  try {
    const input = await create('in', inputs.byteSize, (fd) => {
      for (const [raw, offset] of inputs.offsets) writeShared(fd, raw, offset);
    });
    // Memory that nobody has touched costs nothing, so there is room for the most that can be in flight from the start.
    const output = await create('out', slots * slotBytes, () => undefined);
    await cleanUp(server);
    return {
      outputs: {
        region: output.name,
        path: output.path,
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

/** What the server still has of us after all is taken back by the next run here: this process is then no more. */
async function letGo(server: SharedMemory, name: string): Promise<void> {
  const deadline = performance.now() + LET_GO_MS;
  try {
    while (!(await server.unregisterSharedMemory(name)) && performance.now() < deadline) await sleep(ASK_AGAIN_MS);
  } catch (error) {
    if (!isTrituneError(error)) throw error;
  }
}

/** The server has just shown that this machine's memory is its own, so these names are of processes that were here. */
async function cleanUp(server: SharedMemory): Promise<void> {
  removeRemains();
  for (const { name } of await server.sharedMemoryRegions())
    if (isRemains(name)) await server.unregisterSharedMemory(name);
}
