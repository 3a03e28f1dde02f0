import { createRequire } from 'node:module';
import { formatMessage, TrituneError } from '#base/errors.ts';
import { BYTES_PER_MIB } from '#base/units.ts';

/**
 * Part of NVIDIA's driver, so it exists wherever there is a GPU; the CUDA toolkit is not needed.
 */
const LIBRARY = 'libcuda.so.1';
/** Size of a CUipcMemHandle in bytes, which is the cudaIpcMemHandle_t that servers open. */
const HANDLE_BYTES = 64;
/**
 * Smaller allocations share a block of this size with others, and a handle opens the whole block
 * (CUDA's driver API).
 */
const BLOCK_BYTES = 2 * BYTES_PER_MIB;

/**
 * The memory of one device, by the driver; addresses are valid in all threads of this process.
 * Errors: UNSUPPORTED.
 */
export interface CudaDevice {
  /** Allocates a separate block of at least this many bytes. */
  allocate(byteSize: number): bigint;
  free(address: bigint): void;
  /**
   * Returns the handle that lets another process of this machine open the block that begins there.
   */
  exportHandle(address: bigint): Uint8Array;
  /** The bytes are on the device when this returns. */
  write(address: bigint, bytes: Uint8Array): void;
  read(address: bigint, byteSize: number): Buffer;
}

const devices = new Map<number, CudaDevice>();

/**
 * Returns the device with this number in the driver's order. Errors: UNSUPPORTED without a driver
 * or such a device.
 */
export function openCuda(device: number): CudaDevice {
  const known = devices.get(device) ?? toDevice(driver(), device);
  devices.set(device, known);
  return known;
}

function toDevice(cuda: Driver, number: number): CudaDevice {
  const device = cuda.given('cuDeviceGet', number);
  // The context that all users of the device in this process share; it ends with the process.
  const context = cuda.given('cuDevicePrimaryCtxRetain', device);
  /** Each thread has a current context, and calls apply to its device. */
  const inContext = <T>(act: () => T): T => {
    cuda.call('cuCtxSetCurrent', context);
    return act();
  };
  return {
    allocate: (byteSize) =>
      inContext(() => cuda.given('cuMemAlloc_v2', Math.ceil(byteSize / BLOCK_BYTES) * BLOCK_BYTES)),
    free: (address) => inContext(() => cuda.call('cuMemFree_v2', address)),
    exportHandle: (address) =>
      inContext(() => {
        const handle = new Uint8Array(HANDLE_BYTES);
        cuda.call('cuIpcGetMemHandle', handle, address);
        return handle;
      }),
    write: (address, bytes) =>
      inContext(() => {
        if (bytes.byteLength === 0) return;
        cuda.call('cuMemcpyHtoD_v2', address, bytes, bytes.byteLength);
        // The copy may return before the bytes have arrived.
        cuda.call('cuCtxSynchronize');
      }),
    read: (address, byteSize) =>
      inContext(() => {
        const bytes = Buffer.alloc(byteSize);
        cuda.call('cuMemcpyDtoH_v2', bytes, address, byteSize);
        return bytes;
      }),
  };
}

/** The functions that we use of the driver's API. All return 0 on success. */
const prototypes = {
  cuInit: 'int cuInit(unsigned int flags)',
  cuDeviceGet: 'int cuDeviceGet(_Out_ int *device, int ordinal)',
  cuDevicePrimaryCtxRetain: 'int cuDevicePrimaryCtxRetain(_Out_ uint64_t *context, int device)',
  cuCtxSetCurrent: 'int cuCtxSetCurrent(uint64_t context)',
  cuCtxSynchronize: 'int cuCtxSynchronize()',
  cuMemAlloc_v2: 'int cuMemAlloc_v2(_Out_ uint64_t *address, size_t bytes)',
  cuMemFree_v2: 'int cuMemFree_v2(uint64_t address)',
  cuIpcGetMemHandle: 'int cuIpcGetMemHandle(void *handle, uint64_t address)',
  cuMemcpyHtoD_v2: 'int cuMemcpyHtoD_v2(uint64_t to, void *from, size_t bytes)',
  cuMemcpyDtoH_v2: 'int cuMemcpyDtoH_v2(void *to, uint64_t from, size_t bytes)',
  cuGetErrorName: 'int cuGetErrorName(int status, _Out_ str *name)',
};

type Name = keyof typeof prototypes;
type Argument = number | bigint | Uint8Array | (number | bigint | string | null)[];
type Call = (...args: Argument[]) => number;

interface Driver {
  /** Errors: UNSUPPORTED with the driver's name of the error. */
  call(name: Name, ...args: Argument[]): void;
  /** The same for a function that returns a value through its first parameter. */
  given(name: Name, ...args: Argument[]): bigint;
}

let opened: Driver | undefined;

function driver(): Driver {
  if (!opened) {
    const cuda = createDriver(load());
    cuda.call('cuInit', 0);
    opened = cuda;
  }
  return opened;
}

/** The library that calls C is only loaded when needed. */
function load(): Record<Name, Call> {
  try {
    const koffi = createRequire(import.meta.url)('koffi') as typeof import('koffi');
    const library = koffi.load(LIBRARY);
    const functions = Object.entries(prototypes).map(([name, prototype]) => [name, library.func(prototype)] as const);
    return Object.fromEntries<Call>(functions) as Record<Name, Call>;
  } catch (error) {
    throw unsupported(`the CUDA driver, ${LIBRARY}, cannot be used: ${formatMessage(error)}`, error);
  }
}

function createDriver(functions: Record<Name, Call>): Driver {
  const call = (name: Name, ...args: Argument[]): void => {
    const status = functions[name](...args);
    if (status === 0) return;
    const text: (string | null)[] = [null];
    functions.cuGetErrorName(status, text);
    throw unsupported(`the CUDA driver's ${name} failed: ${text[0] ?? `error ${status}`}`);
  };
  return {
    call,
    given: (name, ...args) => {
      const value: (number | bigint)[] = [0n];
      call(name, value, ...args);
      return BigInt(value[0] ?? 0n);
    },
  };
}

const unsupported = (message: string, cause?: unknown): TrituneError =>
  new TrituneError(
    'UNSUPPORTED',
    message,
    'use --shared-memory system, or a machine with an NVIDIA GPU that has free memory',
    { cause },
  );
