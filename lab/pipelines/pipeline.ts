import type { Device, Step } from '../../src/queueing/network/types.ts';
import type { ServiceLaw } from '../../src/queueing/service-law.ts';
import type { TopologyFront } from '../../src/space/topology.ts';

/**
 * A made-up pipeline: models with laws, the resources they share, and the targets of clients'
 * requests.
 */
export interface Pipeline {
  readonly name: string;
  /** The models in the order in which requests reach them. */
  readonly models: readonly PipelineModel[];
  readonly devices: readonly Device[];
  readonly fronts: readonly TopologyFront[];
  readonly roundTripMs: number;
  /** The server's work on each client request, done one after another. */
  readonly frontEndUs: number;
  /**
   * Relative standard deviation of a measurement: of throughput, of the percentile, and of a
   * stage's mean execution times.
   */
  readonly noise: { readonly throughput: number; readonly latency: number; readonly execution: number };
  /** The memory that instances of all models share, in units; absent if there is enough. */
  readonly memory?: number;
}

/** One model of a pipeline. */
export interface PipelineModel {
  readonly name: string;
  readonly law: ServiceLaw;
  /** The effect of idle instances: beyond this number, all of them share it, busy or not. */
  readonly cores: number;
  readonly device?: { readonly name: string; readonly share: number };
  readonly isOnGpu: boolean;
  readonly calls?: readonly PipelineCall[];
  /** The memory of one instance, in units. */
  readonly memory: number;
  /** The largest batch of the original config. */
  readonly batch: number;
  /** The model's own search space. */
  readonly instances: readonly number[];
  readonly batches: readonly number[];
  readonly delaysUs: readonly number[];
}

/** Requests that a BLS model sends for each sample; absent for its whole request. */
export interface PipelineCall {
  readonly model: string;
  readonly perSample?: number;
  readonly inParallel: boolean;
}

/** Returns the steps of a chain. */
export const chainBlocks = (...stages: readonly string[]): readonly Step[] =>
  stages.map((stage, place) => ({ stage, after: place === 0 ? [] : [place - 1] }));
