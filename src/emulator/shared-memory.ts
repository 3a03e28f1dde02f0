import { closeSync, constants, fstatSync, openSync, writeSync } from 'node:fs';
import type { SharedMemoryRegion } from '../triton/types.ts';
import { ProtocolFailure } from './protocol-failure.ts';

/** Where a request says that a tensor lies. */
export interface TensorPlace {
  readonly region: string;
  readonly byteSize: number;
  readonly offset: number;
}

interface MappedRegion extends SharedMemoryRegion {
  readonly fd: number;
  /** Requests in flight that refer to it. */
  users: number;
}

const FOLDER = '/dev/shm/';
const PAGE_BYTES = 4096;

/** The system shared memory that clients have registered, with the checks and the words of Triton 2.51. */
export class SharedMemoryRegistry {
  readonly #regions = new Map<string, MappedRegion>();

  /** In the order of their names. */
  status(name = ''): readonly SharedMemoryRegion[] {
    const found = name === '' ? [...this.#regions.values()] : [this.#known(name, 'system shared memory region')];
    return found.map(({ fd: _, users: __, ...region }) => region).sort((a, b) => (a.name < b.name ? -1 : 1));
  }

  register(region: SharedMemoryRegion): void {
    const { name, key, offset, byteSize } = region;
    if (this.#regions.has(name))
      throw new ProtocolFailure('ALREADY_EXISTS', `shared memory region '${name}' already in manager`);
    if (![offset, byteSize].every((bytes) => Number.isSafeInteger(bytes) && bytes >= 0))
      throw new ProtocolFailure('INVALID_ARGUMENT', `failed to register shared memory region '${name}': invalid args`);
    const fd = openObject(key);
    const refuse = (why: string): never => {
      closeSync(fd);
      throw new ProtocolFailure('INVALID_ARGUMENT', `failed to register shared memory region '${name}': ${why}`);
    };
    if (offset + byteSize > fstatSync(fd).size) refuse('invalid args');
    if (offset % PAGE_BYTES !== 0) refuse('unable to process address spaceInvalid argument');
    this.#regions.set(name, { ...region, fd, users: 0 });
  }

  /** No name: all of them. */
  unregister(name: string): void {
    for (const region of name === '' ? [...this.#regions.values()] : [this.#regions.get(name)]) {
      if (!region) continue;
      if (region.users > 0)
        throw new ProtocolFailure(
          'INTERNAL',
          `Cannot unregister shared memory region '${region.name}', it is currently in use.`,
        );
      closeSync(region.fd);
      this.#regions.delete(region.name);
    }
  }

  /** CUDA regions there are none of, as nobody can register one. Throws NOT_FOUND for a name. */
  cudaStatus(name: string): void {
    if (name !== '') throw new ProtocolFailure('NOT_FOUND', `Unable to find cuda shared memory region: '${name}'`);
  }

  /** What a server without a GPU says. */
  registerCuda(): never {
    throw new ProtocolFailure('INVALID_ARGUMENT', 'failed to register shared memory region: invalid args');
  }

  /** Holds the regions of these places until the function that it gives back is called. Throws when a place is in none. */
  use(places: readonly TensorPlace[]): () => void {
    const regions = places.map((place) => this.#holding(place));
    for (const region of regions) region.users++;
    return () => {
      for (const region of regions) region.users--;
    };
  }

  write(place: TensorPlace, bytes: Uint8Array): void {
    const { fd, offset } = this.#holding(place);
    writeSync(fd, bytes, 0, bytes.byteLength, offset + place.offset);
  }

  close(): void {
    for (const { fd } of this.#regions.values()) closeSync(fd);
    this.#regions.clear();
  }

  #holding({ region: name, offset, byteSize }: TensorPlace): MappedRegion {
    const region = this.#known(name, 'shared memory region');
    if (offset >= region.byteSize)
      throw new ProtocolFailure('INVALID_ARGUMENT', `Invalid offset for shared memory region: '${name}'`);
    if (offset + byteSize > region.byteSize)
      throw new ProtocolFailure('INVALID_ARGUMENT', `Invalid offset + byte size for shared memory region: '${name}'`);
    return region;
  }

  #known(name: string, what: string): MappedRegion {
    const region = this.#regions.get(name);
    if (!region) throw new ProtocolFailure('NOT_FOUND', `Unable to find ${what}: '${name}'`);
    return region;
  }
}

/** POSIX lets the name begin with a slash and have no other. */
function openObject(key: string): number {
  const name = key.replace(/^\//, '');
  try {
    if (!/^[^/]+$/.test(name) || name === '..') throw new Error('no name of an object');
    return openSync(`${FOLDER}${name}`, constants.O_RDWR);
  } catch (error) {
    throw new ProtocolFailure('INTERNAL', `Unable to open shared memory region: '${key}'`, { cause: error });
  }
}
