import type { ModelConfig } from './config/model-config.ts';
import type { RunMark } from './config/run-mark.ts';

/**
 * The interfaces of the wire. Each has a gRPC and an HTTP implementation that pass one conformance
 * suite.
 */

export interface CallOptions {
  /** Deadline of this call; each implementation has its own default. */
  readonly timeoutMs?: number;
  readonly signal?: AbortSignal;
}

export interface ServerMetadata {
  readonly name: string;
  readonly version: string;
  readonly extensions: readonly string[];
}

export interface TensorMetadata {
  readonly name: string;
  /** KServe name: FP32, INT64, BYTES, … */
  readonly datatype: string;
  /** Includes the batch dimension if the model has one; -1 is any size. */
  readonly shape: readonly number[];
}

export interface ModelMetadata {
  readonly name: string;
  readonly versions: readonly string[];
  readonly platform: string;
  readonly inputs: readonly TensorMetadata[];
  readonly outputs: readonly TensorMetadata[];
}

/** `state` is '' for a model that was never loaded. Ignore `reason` if the state is READY. */
export interface ModelIndexEntry {
  readonly name: string;
  readonly version: string;
  readonly state: '' | 'READY' | 'LOADING' | 'UNLOADING' | 'UNAVAILABLE' | 'UNKNOWN';
  readonly reason: string;
}

export interface StatisticDuration {
  readonly count: number;
  readonly ns: number;
}

export interface BatchStatistics {
  readonly batchSize: number;
  readonly computeInput: StatisticDuration;
  readonly computeInfer: StatisticDuration;
  readonly computeOutput: StatisticDuration;
}

/**
 * Cumulative since the last full load of the model version. The wire's uint64 counters, exact up to
 * 2^53.
 */
export interface ModelStatistics {
  readonly name: string;
  readonly version: string;
  readonly lastInferenceMs: number;
  readonly inferenceCount: number;
  readonly executionCount: number;
  readonly success: StatisticDuration;
  readonly fail: StatisticDuration;
  readonly queue: StatisticDuration;
  readonly computeInput: StatisticDuration;
  readonly computeInfer: StatisticDuration;
  readonly computeOutput: StatisticDuration;
  readonly cacheHit: StatisticDuration;
  readonly cacheMiss: StatisticDuration;
  readonly batchStats: readonly BatchStatistics[];
  readonly memoryUsage: readonly { readonly type: string; readonly id: number; readonly byteSize: number }[];
}

export interface ServerHealth {
  live(call?: CallOptions): Promise<boolean>;
  ready(call?: CallOptions): Promise<boolean>;
  modelReady(model: string, call?: CallOptions): Promise<boolean>;
  serverMetadata(call?: CallOptions): Promise<ServerMetadata>;
  /** Errors: MODEL_UNKNOWN; MODEL_UNREADY if it is in the repository but not loaded. */
  modelMetadata(model: string, call?: CallOptions): Promise<ModelMetadata>;
}

/** The files of a model to upload, by path in the model's directory, such as `1/model.onnx`. */
export type ModelFiles = ReadonlyMap<string, Uint8Array>;

export interface LoadCall extends CallOptions {
  /**
   * Uploaded with a config. The server then serves only these files, whatever the model's directory
   * holds, until a load without files, which serves the directory's again (verified on Triton
   * 2.51).
   */
  readonly files?: ModelFiles;
}

export interface ModelControl {
  index(call?: CallOptions): Promise<readonly ModelIndexEntry[]>;
  /**
   * Returns the effective config, including auto-completed fields, in normal form, without the mark
   * of a run. Errors: MODEL_UNKNOWN; MODEL_UNREADY if it is in the repository but not loaded;
   * UNSUPPORTED if a newer server sent fields that would be lost (gRPC only).
   */
  modelConfig(model: string, call?: CallOptions): Promise<ModelConfig>;
  /**
   * Loads the model: with `config` as a whole-config override, otherwise from the repository.
   * Resolves when the server reports it as loaded. Errors: LOAD_REFUSED (a LoadRefusedError with
   * the server's own words and a class), CONTROL_DISABLED, MODEL_UNKNOWN, SERVER_TIMEOUT (the load
   * may continue inside the server).
   */
  load(model: string, config?: ModelConfig, call?: LoadCall): Promise<void>;
  /** Errors: CONTROL_DISABLED. The unload continues after the reply; poll `index`. */
  unload(model: string, call?: CallOptions): Promise<void>;
}

export interface RunMarks {
  /**
   * Returns the mark that a run of tritune put into the config of a loaded model; null if there is
   * none. Errors: as `modelConfig`.
   */
  runMark(model: string, call?: CallOptions): Promise<RunMark | null>;
}

export interface ServerStats {
  /**
   * One entry per version, highest version last; of all loaded models for an empty name. Errors:
   * MODEL_UNKNOWN, MODEL_UNREADY.
   */
  statistics(model: string, call?: CallOptions): Promise<readonly ModelStatistics[]>;
}

/** Part of a POSIX shared-memory object on the server's machine, as the server knows it. */
export interface SharedMemoryRegion {
  /** The name that requests use; unique on the server. */
  readonly name: string;
  /** Name of the object: `/NAME`, on Linux the file `/dev/shm/NAME`. */
  readonly key: string;
  /** Offset of the region in the object: a multiple of the page size. */
  readonly offset: number;
  readonly byteSize: number;
}

/**
 * A block of a CUDA device's memory that another process on the server's machine shares with the
 * server.
 */
export interface CudaMemoryRegion {
  readonly name: string;
  /** The server's number of the device. */
  readonly deviceId: number;
  readonly byteSize: number;
}

/** Regions of both kinds share one set of names: no two are the same. */
export interface SharedMemory {
  /** Returns all registered regions, of any client. */
  sharedMemoryRegions(call?: CallOptions): Promise<readonly SharedMemoryRegion[]>;
  /**
   * Errors: SERVER_FAILED with the server's words if it cannot map the object, or already has a
   * region of that name.
   */
  registerSharedMemory(region: SharedMemoryRegion, call?: CallOptions): Promise<void>;
  /**
   * False if a request still uses the region, which then stays. A name that is not registered is no
   * error.
   */
  unregisterSharedMemory(name: string, call?: CallOptions): Promise<boolean>;
  /** The same for memory of CUDA devices. */
  cudaMemoryRegions(call?: CallOptions): Promise<readonly CudaMemoryRegion[]>;
  /**
   * `handle`: the 64 bytes of a cudaIpcMemHandle_t. Errors: SERVER_FAILED with the server's words
   * if it cannot open it.
   */
  registerCudaMemory(region: CudaMemoryRegion, handle: Uint8Array, call?: CallOptions): Promise<void>;
  unregisterCudaMemory(name: string, call?: CallOptions): Promise<boolean>;
}

/**
 * Trace and log settings by name (`trace_level`, `trace_rate`, `trace_count`, `log_frequency` and
 * others), each with its values.
 */
export type TraceSettings = Readonly<Record<string, readonly string[]>>;

export interface TraceControl {
  traceSettings(call?: CallOptions): Promise<TraceSettings>;
  /**
   * Changes these settings for every model and every client; the others stay. Returns all settings
   * after the change.
   */
  changeTraceSettings(change: TraceSettings, call?: CallOptions): Promise<TraceSettings>;
}

/**
 * One connection to one server. Every call has a deadline. Common errors: SERVER_UNREACHABLE,
 * SERVER_TIMEOUT, SERVER_FAILED.
 */
export interface TritonClient extends ServerHealth, ModelControl, RunMarks, ServerStats, SharedMemory, TraceControl {
  readonly protocol: 'grpc' | 'http';
  /** HOST:PORT */
  readonly url: string;
  close(): Promise<void>;
}
