import type { ModelConfig } from './config/model-config.ts';

/** The seams of the wire. Each has a gRPC and an HTTP implementation that pass one conformance suite. */

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
  /** With the batch dimension when the model has one; -1 is any size. */
  readonly shape: readonly number[];
}

export interface ModelMetadata {
  readonly name: string;
  readonly versions: readonly string[];
  readonly platform: string;
  readonly inputs: readonly TensorMetadata[];
  readonly outputs: readonly TensorMetadata[];
}

/** `state` is '' for a model that was never loaded. A `reason` says nothing about a model whose state is READY. */
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

/** Cumulative since the model version was last fully loaded. The wire's uint64 counters, exact up to 2^53. */
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
  /** Errors: MODEL_UNKNOWN; MODEL_UNREADY when it is in the repository but not loaded. */
  modelMetadata(model: string, call?: CallOptions): Promise<ModelMetadata>;
}

/** The files of a model to upload, by their place in the model's directory, such as `1/model.onnx`. */
export type ModelFiles = ReadonlyMap<string, Uint8Array>;

export interface LoadCall extends CallOptions {
  /**
   * Go with a config. The server then serves these files and no others, whatever the model's directory holds, until a load without
   * files, which serves the directory's again (verified on Triton 2.51).
   */
  readonly files?: ModelFiles;
}

export interface ModelControl {
  index(call?: CallOptions): Promise<readonly ModelIndexEntry[]>;
  /**
   * The effective config, auto-completed fields included, in normal form. Errors: MODEL_UNKNOWN; MODEL_UNREADY when it is
   * in the repository but not loaded; UNSUPPORTED when a newer server sent fields that would be lost (gRPC only).
   */
  modelConfig(model: string, call?: CallOptions): Promise<ModelConfig>;
  /**
   * Loads the model: with `config` as a whole-config override, without it from the repository. Resolves when the
   * server says that it is loaded. Errors: LOAD_REFUSED (a LoadRefusedError with the server's own words and a class),
   * CONTROL_DISABLED, MODEL_UNKNOWN, SERVER_TIMEOUT (the load may still go on inside the server).
   */
  load(model: string, config?: ModelConfig, call?: LoadCall): Promise<void>;
  /** Errors: CONTROL_DISABLED. The unload goes on after the reply; poll `index`. */
  unload(model: string, call?: CallOptions): Promise<void>;
}

export interface ServerStats {
  /** One entry per version, highest version last. Errors: MODEL_UNKNOWN, MODEL_UNREADY. */
  statistics(model: string, call?: CallOptions): Promise<readonly ModelStatistics[]>;
}

/** Part of a POSIX shared-memory object of the server's machine, as the server knows it. */
export interface SharedMemoryRegion {
  /** By which requests refer to it; one for each server. */
  readonly name: string;
  /** Name of the object: `/NAME`, on Linux the file `/dev/shm/NAME`. */
  readonly key: string;
  /** Where the region begins in the object: a multiple of the page size. */
  readonly offset: number;
  readonly byteSize: number;
}

/** A block of a CUDA device's memory that a process of the server's machine has let it open, as the server knows it. */
export interface CudaMemoryRegion {
  readonly name: string;
  /** The server's number of the device. */
  readonly deviceId: number;
  readonly byteSize: number;
}

/** Names of regions of both kinds are of one list: no two are the same. */
export interface SharedMemory {
  /** All regions that are registered, whoever registered them. */
  sharedMemoryRegions(call?: CallOptions): Promise<readonly SharedMemoryRegion[]>;
  /** Errors: SERVER_FAILED with the server's words when it cannot map the object, or has a region of that name. */
  registerSharedMemory(region: SharedMemoryRegion, call?: CallOptions): Promise<void>;
  /** False when a request still uses the region, which then stays. A name that is not registered is no error. */
  unregisterSharedMemory(name: string, call?: CallOptions): Promise<boolean>;
  /** The same for memory of CUDA devices. */
  cudaMemoryRegions(call?: CallOptions): Promise<readonly CudaMemoryRegion[]>;
  /** `handle`: the 64 bytes of a cudaIpcMemHandle_t. Errors: SERVER_FAILED with the server's words when it cannot open it. */
  registerCudaMemory(region: CudaMemoryRegion, handle: Uint8Array, call?: CallOptions): Promise<void>;
  unregisterCudaMemory(name: string, call?: CallOptions): Promise<boolean>;
}

/** Trace and log settings by name (`trace_level`, `trace_rate`, `trace_count`, `log_frequency` and others), each with its values. */
export type TraceSettings = Readonly<Record<string, readonly string[]>>;

export interface TraceControl {
  traceSettings(call?: CallOptions): Promise<TraceSettings>;
  /** Changes these settings for every model and every client; the other settings stay. Gives all of them as they are then. */
  changeTraceSettings(change: TraceSettings, call?: CallOptions): Promise<TraceSettings>;
}

/** One connection to one server. Every call has a deadline. Common errors: SERVER_UNREACHABLE, SERVER_TIMEOUT, SERVER_FAILED. */
export interface TritonClient extends ServerHealth, ModelControl, ServerStats, SharedMemory, TraceControl {
  readonly protocol: 'grpc' | 'http';
  /** HOST:PORT */
  readonly url: string;
  close(): Promise<void>;
}
