import type { ModelConfig } from '../triton/config/model-config.ts';
import type { Breakage } from './wire/broken-connection.ts';
import type { FailureStatus } from './wire/protocol-failure.ts';

/**
 * What goes wrong on purpose: what a profile says and what a test sets. Read at each use: a test may set and clear the
 * fields of the object that it passed while the emulator runs. Nothing here can be reached over the wire.
 */
export interface Faults {
  /** The backend's words with which this load fails (INVALID_ARGUMENT, old version kept); null lets it through. */
  refuseLoad?: (load: FaultyLoad) => string | null;
  /** Time added to this load, in milliseconds. */
  delayLoadMs?: (load: FaultyLoad) => number;
  /** True: the whole server is gone in the middle of this load. */
  crashLoad?: (load: FaultyLoad) => boolean;
  /** True: the load call succeeds, but the model is never ready and serves nothing until its next load. */
  neverReady?: (load: FaultyLoad) => boolean;
  /** The config that this load makes serve instead of the one sent. */
  replaceConfig?: (load: FaultyLoad) => ModelConfig;
  /** The config that a read-back gives instead of the effective one. */
  readBack?: (config: ModelConfig) => ModelConfig;
  /** True: the connection is cut instead of an answer to this infer call. */
  dropConnection?: (call: FaultyCall) => boolean;
  /** What befalls this infer call or its connection in place of an answer; null lets it through. */
  disturbInfer?: (call: FaultyCall) => Disturbance | null;
  /** Time before this infer call is looked at, in milliseconds. */
  delayInferMs?: (call: FaultyCall) => number;
  /** Tokens of an answer in a stream after which its connection is cut; null lets it go on to its end. */
  cutAnswerAfter?: (call: FaultyCall) => number | null;
  /** What befalls this reading of a model's statistics; null lets it through. */
  disturbStatistics?: (call: FaultyCall) => 'forget' | 'fail' | null;
  /** What befalls this reading of the metrics page; null lets it through. */
  disturbMetrics?: () => MetricsFault | null;
  /** The status with which this infer call fails at once; null lets it through. */
  failInfer?: (call: FaultyCall) => { readonly status: FailureStatus; readonly message: string } | null;
}

/**
 * No answer ever, the connection broken in one of its ways, or the whole server gone; or just then another client unloads the
 * model, loads it with its stored config, or removes it from the repository.
 */
export type Disturbance = 'hang' | Breakage | 'crash' | Meddling;

/** What another client may do to a model. */
export type Meddling = 'unload' | 'reload' | 'remove';

/** No such page, a page that is none, or no answer ever. */
export type MetricsFault = 'missing' | 'malformed' | 'hang';

export interface FaultyLoad {
  readonly model: string;
  readonly config: ModelConfig;
  /** True when only instances change. */
  readonly inPlace: boolean;
}

export interface FaultyCall {
  readonly model: string;
}

/** Both together: what the first has nothing to say about is the second's to decide; delays add up. */
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
