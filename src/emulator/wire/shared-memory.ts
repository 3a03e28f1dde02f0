import { closeSync, constants, fstatSync, openSync, writeSync } from 'node:fs';
import type { CudaMemoryRegion, SharedMemoryRegion } from '#triton/types.ts';
import { ProtocolFailure } from './protocol-failure.ts';

/** A tensor's place according to its request. */
export interface TensorPlace {
  readonly region: string;
  readonly byteSize: number;
  readonly offset: number;
}

type Region = ({ readonly kind: 'system' } & SharedMemoryRegion) | ({ readonly kind: 'cuda' } & CudaMemoryRegion);
type Kind = Region['kind'];

interface MappedRegion {
  readonly region: Region;
  /** Offset of the region in its object. */
  readonly offset: number;
  readonly fd: number;
  /** Requests in flight that use it. */
  users: number;
}

const FOLDER = '/dev/shm/';
const PAGE_BYTES = 4096;
const called: Readonly<Record<Kind, string>> = { system: 'system', cuda: 'CUDA' };

/**
 * The shared memory that clients have registered, with the checks and messages of Triton 2.51; for
 * `gpus`, with our own messages. An emulated GPU has no memory to open: a handle must hold the key
 * of an object in this machine's memory.
 */
export class SharedMemoryRegistry {
  readonly #gpus: number;
  readonly #regions = new Map<string, MappedRegion>();

  constructor(gpus: number) {
    this.#gpus = gpus;
  }

  /** Returns system shared memory, ordered by name. Throws NOT_FOUND for an unknown name. */
  status(name = ''): readonly SharedMemoryRegion[] {
    return this.#found('system', name).flatMap((region) => (region.kind === 'system' ? [region] : []));
  }

  /** The same for GPUs. */
  cudaStatus(name = ''): readonly CudaMemoryRegion[] {
    return this.#found('cuda', name).flatMap((region) => (region.kind === 'cuda' ? [region] : []));
  }

  register(region: SharedMemoryRegion): void {
    const { name, key, offset, byteSize } = region;
    this.#checkNew(name);
    if (![offset, byteSize].every((bytes) => Number.isSafeInteger(bytes) && bytes >= 0))
      throw new ProtocolFailure('INVALID_ARGUMENT', `failed to register shared memory region '${name}': invalid args`);
    const fd = openObject(key);
    const refuse = (why: string): never => {
      closeSync(fd);
      throw new ProtocolFailure('INVALID_ARGUMENT', `failed to register shared memory region '${name}': ${why}`);
    };
    if (offset + byteSize > fstatSync(fd).size) refuse('invalid args');
    if (offset % PAGE_BYTES !== 0) refuse('unable to process address spaceInvalid argument');
    this.#regions.set(name, { region: { kind: 'system', ...region }, offset, fd, users: 0 });
  }

  /** A server without a GPU gives the same answer for every region. */
  registerCuda(region: CudaMemoryRegion, handle: Uint8Array): void {
    const { name, deviceId, byteSize } = region;
    const invalid = new ProtocolFailure('INVALID_ARGUMENT', 'failed to register shared memory region: invalid args');
    if (!(deviceId >= 0 && deviceId < this.#gpus)) throw invalid;
    this.#checkNew(name);
    const fd = openObject(Buffer.from(handle).toString('latin1').replace(/\0.*$/s, ''), invalid);
    if (!(byteSize <= fstatSync(fd).size)) {
      closeSync(fd);
      throw invalid;
    }
    this.#regions.set(name, { region: { kind: 'cuda', ...region }, offset: 0, fd, users: 0 });
  }

  /** No name: all regions of this kind. A region of the other kind silently stays. */
  unregister(kind: Kind, name: string): void {
    for (const mapped of name === '' ? [...this.#regions.values()] : [this.#regions.get(name)]) {
      if (mapped?.region.kind !== kind) continue;
      if (mapped.users > 0)
        throw new ProtocolFailure(
          'INTERNAL',
          `Cannot unregister shared memory region '${mapped.region.name}', it is currently in use.`,
        );
      closeSync(mapped.fd);
      this.#regions.delete(mapped.region.name);
    }
  }

  /**
   * Holds the regions of these places until the returned function is called. Throws if a place is
   * in no region.
   */
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

  #found(kind: Kind, name: string): Region[] {
    const all = name === '' ? [...this.#regions.values()] : [this.#known(name, `${kind} shared memory region`)];
    const regions = all.map(({ region }) => region);
    const [other] = regions.filter((region) => region.kind !== kind);
    if (name !== '' && other)
      throw new ProtocolFailure(
        'NOT_FOUND',
        `The region named '${name}' is registered as ${called[other.kind]} shared memory, not ${called[kind]} shared memory`,
      );
    return regions.filter((region) => region.kind === kind).sort((a, b) => (a.name < b.name ? -1 : 1));
  }

  #checkNew(name: string): void {
    if (this.#regions.has(name))
      throw new ProtocolFailure('ALREADY_EXISTS', `shared memory region '${name}' already in manager`);
  }

  #holding({ region: name, offset, byteSize }: TensorPlace): MappedRegion {
    const mapped = this.#known(name, 'shared memory region');
    const { region } = mapped;
    if (offset >= region.byteSize)
      throw new ProtocolFailure('INVALID_ARGUMENT', `Invalid offset for shared memory region: '${name}'`);
    if (offset + byteSize > region.byteSize)
      throw new ProtocolFailure('INVALID_ARGUMENT', `Invalid offset + byte size for shared memory region: '${name}'`);
    return mapped;
  }

  #known(name: string, what: string): MappedRegion {
    const region = this.#regions.get(name);
    if (!region) throw new ProtocolFailure('NOT_FOUND', `Unable to find ${what}: '${name}'`);
    return region;
  }
}

/** POSIX lets the name begin with a slash and contain no other. */
function openObject(key: string, refusal?: ProtocolFailure): number {
  const name = key.replace(/^\//, '');
  try {
    if (!/^[^/]+$/.test(name) || name === '..') throw new Error('no name of an object');
    return openSync(`${FOLDER}${name}`, constants.O_RDWR);
  } catch (error) {
    throw refusal ?? new ProtocolFailure('INTERNAL', `Unable to open shared memory region: '${key}'`, { cause: error });
  }
}
