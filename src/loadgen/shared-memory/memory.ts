import { closeSync, openSync, readSync } from 'node:fs';
import { openCuda } from './cuda-driver.ts';
import { writeShared } from './shared-object.ts';

/**
 * The location of memory that a server shares with us, as plain values: every thread of this
 * process can open it.
 */
export type MemoryPlace =
  | { readonly kind: 'system'; readonly path: string }
  | { readonly kind: 'cuda'; readonly device: number; readonly address: bigint };

/** One thread's access to such memory. */
export interface OpenMemory {
  /** Returns a copy of these bytes. */
  read(offset: number, byteSize: number): Buffer;
  /**
   * Allocates real memory for these bytes before a server writes there. Errors: UNSUPPORTED if none
   * is left.
   */
  claim(offset: number, byteSize: number): void;
  close(): void;
}

/** Errors: those of the operating system or the CUDA driver. */
export function openMemory(place: MemoryPlace): OpenMemory {
  return place.kind === 'system' ? openSystemMemory(place.path) : openCudaMemory(place.device, place.address);
}

function openSystemMemory(path: string): OpenMemory {
  const fd = openSync(path, 'r+');
  return {
    read: (offset, byteSize) => {
      const bytes = Buffer.alloc(byteSize);
      readSync(fd, bytes, 0, byteSize, offset);
      return bytes;
    },
    // A server that writes without memory left would be killed. Allocate now, so that an error can
    // be reported.
    claim: (offset, byteSize) => writeShared(fd, new Uint8Array(byteSize), offset),
    close: () => closeSync(fd),
  };
}

function openCudaMemory(device: number, address: bigint): OpenMemory {
  const cuda = openCuda(device);
  return {
    read: (offset, byteSize) => cuda.read(address + BigInt(offset), byteSize),
    // A device's memory exists from its allocation on.
    claim: () => undefined,
    close: () => undefined,
  };
}
