import { setTimeout as sleep } from 'node:timers/promises';
import { isTrituneError } from '#base/errors.ts';
import type { SharedMemory } from '#triton/types.ts';
import { openCuda } from './cuda-driver.ts';
import type { MemoryPlace } from './memory.ts';
import { isRemains, ownName } from './owner.ts';
import { createSharedObject, fillShared, removeRemains } from './shared-object.ts';

/** Memory of this machine, or of one of its CUDA devices, by the driver's number. */
export type MemoryKind = { readonly kind: 'system' } | { readonly kind: 'cuda'; readonly device: number };

/** Bytes and their offsets. */
export type Contents = ReadonlyMap<Uint8Array, number>;

/** A block of memory that a server has as a region. */
export interface SharedBlock {
  /** Also the name of the region. */
  readonly name: string;
  readonly place: MemoryPlace;
  /** Makes the server release it, and frees the memory. Never throws. */
  close(): Promise<void>;
}

/** Creates memory of one kind, and removes the remains of killed runs. */
export interface BlockSource {
  /** Errors: UNSUPPORTED if there is no such memory; SERVER_FAILED if the server cannot use it. */
  create(server: SharedMemory, what: 'in' | 'out', byteSize: number, contents: Contents): Promise<SharedBlock>;
  /**
   * Call this once the server has proven to be on this machine: only then do the names belong to
   * processes of this machine.
   */
  cleanUp(server: SharedMemory): Promise<void>;
  /**
   * Slots beyond the maximum in flight, for requests that ended without an answer from the server.
   */
  readonly spareSlots: number;
}

const PAGE_BYTES = 4096;
/** Time for which to ask a server that still works on abandoned requests to release a region. */
const LET_GO_MS = 10_000;
const ASK_AGAIN_MS = 50;

export function takeBlocks(memory: MemoryKind): BlockSource {
  return memory.kind === 'system' ? systemBlocks : cudaBlocks(memory.device);
}

const systemBlocks: BlockSource = {
  create: async (server, what, bytes, contents) => {
    const byteSize = Math.ceil(Math.max(bytes, 1) / PAGE_BYTES) * PAGE_BYTES;
    const { name, path, remove } = createSharedObject(what, byteSize);
    const close = async (): Promise<void> => {
      remove();
      await letGo(() => server.unregisterSharedMemory(name));
    };
    await orClose(close, async () => {
      fillShared(path, contents);
      await server.registerSharedMemory({ name, key: `/${name}`, offset: 0, byteSize });
    });
    return { name, place: { kind: 'system', path }, close };
  },
  cleanUp: async (server) => {
    removeRemains();
    for (const { name } of await server.sharedMemoryRegions())
      if (isRemains(name)) await server.unregisterSharedMemory(name);
  },
  // Untouched memory costs nothing.
  spareSlots: 256,
};

const cudaBlocks = (device: number): BlockSource => ({
  create: async (server, what, bytes, contents) => {
    const byteSize = Math.max(bytes, 1);
    const cuda = openCuda(device);
    const name = ownName(what);
    const address = cuda.allocate(byteSize);
    const close = (): Promise<void> =>
      letGo(async () => {
        // Memory that the server still has open must not be freed: it then lives until this process
        // ends.
        const isFree = await server.unregisterCudaMemory(name);
        if (isFree) cuda.free(address);
        return isFree;
      });
    await orClose(close, async () => {
      for (const [raw, offset] of contents) cuda.write(address + BigInt(offset), raw);
      await server.registerCudaMemory({ name, deviceId: device, byteSize }, cuda.exportHandle(address));
    });
    return { name, place: { kind: 'cuda', device, address }, close };
  },
  cleanUp: async (server) => {
    for (const { name } of await server.cudaMemoryRegions())
      if (isRemains(name)) await server.unregisterCudaMemory(name);
  },
  spareSlots: 16,
});

async function orClose(close: () => Promise<void>, act: () => Promise<void>): Promise<void> {
  try {
    await act();
  } catch (error) {
    await close();
    throw error;
  }
}

/**
 * If the server still holds our regions after all, the next run takes them back once this process
 * is gone.
 */
async function letGo(ask: () => Promise<boolean>): Promise<void> {
  const deadline = performance.now() + LET_GO_MS;
  try {
    while (!(await ask()) && performance.now() < deadline) await sleep(ASK_AGAIN_MS);
  } catch (error) {
    if (!isTrituneError(error)) throw error;
  }
}
