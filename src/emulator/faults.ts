import type { ModelConfig } from '#triton/config/model-config.ts';
import type { Breakage } from './wire/broken-connection.ts';
import type { FailureStatus } from './wire/protocol-failure.ts';

/**
 * Deliberate faults, from a profile or a test. The emulator reads them at each use, so a test may
 * set and clear the fields of its object while the emulator runs. Nothing here can be reached over
 * the wire.
 */
export interface Faults {
  /**
   * The backend's message with which this load fails (INVALID_ARGUMENT, old version kept); null
   * lets it through.
   */
  refuseLoad?: (load: FaultyLoad) => string | null;
  /** Time added to this load, in milliseconds. */
  delayLoadMs?: (load: FaultyLoad) => number;
  /** True: the whole server dies in the middle of this load. */
  crashLoad?: (load: FaultyLoad) => boolean;
  /**
   * True: the load call succeeds, but the model is never ready and serves nothing until its next
   * load.
   */
  neverReady?: (load: FaultyLoad) => boolean;
  /** The config that this load serves instead of the one sent. */
  replaceConfig?: (load: FaultyLoad) => ModelConfig;
  /** The config that a read-back returns instead of the effective one. */
  readBack?: (config: ModelConfig) => ModelConfig;
  /** True: cuts the connection instead of answering this infer call. */
  dropConnection?: (call: FaultyCall) => boolean;
  /**
   * The disturbance of this infer call or its connection instead of an answer; null lets it
   * through.
   */
  disturbInfer?: (call: FaultyCall) => Disturbance | null;
  /** Delay before this infer call is processed, in milliseconds. */
  delayInferMs?: (call: FaultyCall) => number;
  /** Tokens of a streamed answer after which its connection is cut; null lets it finish. */
  cutAnswerAfter?: (call: FaultyCall) => number | null;
  /** The disturbance of this reading of a model's statistics; null lets it through. */
  disturbStatistics?: (call: FaultyCall) => 'forget' | 'fail' | null;
  /** The disturbance of this reading of the metrics page; null lets it through. */
  disturbMetrics?: () => MetricsFault | null;
  /** The status with which this infer call fails at once; null lets it through. */
  failInfer?: (call: FaultyCall) => { readonly status: FailureStatus; readonly message: string } | null;
}

/**
 * No answer ever, a broken connection in one of several ways, or a dead server. Or another client
 * unloads the model at that moment, loads it with its stored config, or removes it from the
 * repository.
 */
export type Disturbance = 'hang' | Breakage | 'crash' | Meddling;

/** What another client may do to a model. */
export type Meddling = 'unload' | 'reload' | 'remove';

/** A missing page, an invalid page, or no answer ever. */
export type MetricsFault = 'missing' | 'malformed' | 'hang';

export interface FaultyLoad {
  readonly model: string;
  readonly config: ModelConfig;
  /** True if only instances change. */
  readonly inPlace: boolean;
}

export interface FaultyCall {
  readonly model: string;
}

/** Combines both: the second decides where the first has nothing to say; delays add up. */
export function bothFaults(first: Faults, second: Faults): Faults {
  return {
    refuseLoad: (load) => first.refuseLoad?.(load) ?? second.refuseLoad?.(load) ?? null,
    delayLoadMs: (load) => (first.delayLoadMs?.(load) ?? 0) + (second.delayLoadMs?.(load) ?? 0),
    crashLoad: (load) => first.crashLoad?.(load) || second.crashLoad?.(load) || false,
    neverReady: (load) => first.neverReady?.(load) || second.neverReady?.(load) || false,
    replaceConfig: (load) => {
      const config = first.replaceConfig?.(load) ?? load.config;
      return second.replaceConfig?.({ ...load, config }) ?? config;
    },
    readBack: (config) => {
      const read = first.readBack?.(config) ?? config;
      return second.readBack?.(read) ?? read;
    },
    dropConnection: (call) => first.dropConnection?.(call) || second.dropConnection?.(call) || false,
    disturbInfer: (call) => first.disturbInfer?.(call) ?? second.disturbInfer?.(call) ?? null,
    delayInferMs: (call) => (first.delayInferMs?.(call) ?? 0) + (second.delayInferMs?.(call) ?? 0),
    cutAnswerAfter: (call) => first.cutAnswerAfter?.(call) ?? second.cutAnswerAfter?.(call) ?? null,
    disturbStatistics: (call) => first.disturbStatistics?.(call) ?? second.disturbStatistics?.(call) ?? null,
    disturbMetrics: () => first.disturbMetrics?.() ?? second.disturbMetrics?.() ?? null,
    failInfer: (call) => first.failInfer?.(call) ?? second.failInfer?.(call) ?? null,
  };
}
