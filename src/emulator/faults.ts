import type { ModelConfig } from '../triton/model-config.ts';
import type { FailureStatus } from './protocol-failure.ts';

/**
 * What goes wrong on purpose, for tests. Read at each use: a test may set and clear the fields of the object that it
 * passed while the emulator runs. Nothing here can be reached over the wire.
 */
export interface Faults {
  /** The backend's words with which this load fails (INVALID_ARGUMENT, old version kept); null lets it through. */
  refuseLoad?: (load: FaultyLoad) => string | null;
  /** Time added to this load, in milliseconds. */
  delayLoadMs?: (load: FaultyLoad) => number;
  /** True: the load call succeeds, but the model is never ready and serves nothing until its next load. */
  neverReady?: (load: FaultyLoad) => boolean;
  /** The config that a read-back gives in place of the effective one. */
  readBack?: (config: ModelConfig) => ModelConfig;
  /** True: the connection is cut instead of an answer to this infer call. */
  dropConnection?: () => boolean;
  /** The status with which this infer call fails at once; null lets it through. */
  failInfer?: () => { readonly status: FailureStatus; readonly message: string } | null;
}

export interface FaultyLoad {
  readonly model: string;
  readonly config: ModelConfig;
  /** True when only instances change. */
  readonly inPlace: boolean;
}
