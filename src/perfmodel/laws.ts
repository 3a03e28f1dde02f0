import type { Measurement } from '#profiler/measurement.ts';
import { stageBreakdowns } from '#profiler/stage-breakdowns.ts';
import type { Topology } from '#space/topology.ts';
import type { CandidateShape } from '#space/types.ts';
import { fitBatcherModel } from './batcher-model.ts';
import { fitEngineModel } from './continuous/engine-model.ts';
import { placeOfEngine } from './continuous/engine-place.ts';
import { tokenObservations } from './continuous/observed-traffic.ts';
import { toChoice } from './modelled-config.ts';
import { fitNetworkModel } from './network/network-model.ts';
import { hasServicePoints } from './observation.ts';
import { isModelled, isUsable, listObservations, type MeasuredCandidate } from './observations.ts';
import type { MeasuredChoice, ServiceModel, ServiceModelOptions } from './service-model.ts';

/** A law of how configs serve requests. */
export interface Law {
  /** True if it models such configs. */
  models(shape: CandidateShape): boolean;
  /** What it does not model, in words. */
  readonly lacks: string;
  /** Lists the measurements of a candidate that it can be fitted to. */
  listTelling(measured: MeasuredCandidate): readonly Measurement[];
  /**
   * Fits it. Errors: none; without measurements that it can be fitted to, a usual law is scaled to
   * the first one.
   */
  fit(measured: readonly MeasuredChoice[], options: ServiceModelOptions): ServiceModel;
  /** Requests to simulate for one prediction, and for each of a page of them. */
  readonly requests: { readonly one: number; readonly many: number };
  /** The most simulations for a page: less than a second, or a few where one takes long. */
  readonly maxSimulations: number;
}

const batcher: Law = {
  models: isModelled,
  lacks: 'sequences, ensembles or decoupled models',
  listTelling: ({ candidate, measurements }) =>
    measurements.filter((each) => listObservations({ candidate, measurements: [each] }).some(hasServicePoints)),
  fit: fitBatcherModel,
  requests: { one: 4000, many: 2000 },
  maxSimulations: 600,
};

const engine: Law = {
  models: ({ continuous }) => continuous !== undefined,
  lacks: 'engines without continuous batching',
  listTelling: ({ candidate, measurements }) =>
    measurements.filter(
      (each) => tokenObservations([{ choice: toChoice(candidate), measurements: [each] }]).length > 0,
    ),
  fit: (measured, options) =>
    fitEngineModel(measured, options) ?? { ...fitBatcherModel(measured, options), place: placeOfEngine },
  requests: { one: 600, many: 200 },
  maxSimulations: 100,
};

const toNetworkLaw = (topology: Topology): Law => ({
  models: ({ members }) => members !== undefined && Object.values(members).every(isModelled),
  lacks: 'sequences and decoupled models',
  listTelling: ({ measurements }) =>
    measurements.filter((each) => isUsable(each) && stageBreakdowns(each, topology).size === topology.stages.length),
  fit: (measured, options) => fitNetworkModel(measured, topology, options),
  requests: { one: 800, many: 800 },
  maxSimulations: 400,
});

/**
 * Returns the law of a study's configs. `topology`: the relations between models that are tuned
 * together; absent for a single model. `shape`: that of any of its candidates.
 */
export function findLaw(topology: Topology | undefined, shape: CandidateShape | undefined): Law {
  if (topology) return toNetworkLaw(topology);
  return shape?.continuous ? engine : batcher;
}
