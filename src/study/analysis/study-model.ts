import {
  createNetworkPredictor,
  isNetworkModelled,
  networkObservations,
} from '#perfmodel/network/network-predictor.ts';
import { isModelled, listObservations } from '#perfmodel/observations.ts';
import { createPredictor, type Predictor } from '#perfmodel/predictor.ts';
import type { Topology } from '#space/topology.ts';
import type { Candidate, CandidateShape } from '#space/types.ts';
import { reportDraw } from '../summary/prediction.ts';
import type { Trial } from '../types.ts';

/**
 * Requests of one simulation: 20 beyond the p99. The stated range includes its sampling error,
 * because the prediction does.
 */
const REQUESTS = 2000;

/** Returns the settings of the simulations of all what-if predictions and their ranges. */
export const createDraw = (percentile: number) => reportDraw(percentile, REQUESTS);

/**
 * The performance model of a study: for its one model, or for the models that are tuned together.
 */
export interface StudyModel {
  /** True if it can predict such candidates. */
  models(shape: CandidateShape): boolean;
  /** The number of measurements that it can be fitted to. */
  observationsIn(trial: Pick<Trial, 'candidate' | 'measurements'>): number;
  /** Fits it to the trials; null if they contain too little information. */
  fit(trials: readonly Trial[], percentile: number, candidates: readonly Candidate[]): Predictor | null;
  /** The most simulations per page: less than a second, or a few for a network. */
  readonly mostSimulations: number;
}

const ofOne: StudyModel = {
  models: isModelled,
  observationsIn: (trial) => listObservations(trial).length,
  fit: (trials, percentile, candidates) => createPredictor(trials, createDraw(percentile), candidates),
  mostSimulations: 600,
};

/** Requests of one simulation of a network, which takes longer: 8 beyond the p99. */
const NETWORK_REQUESTS = 800;

const ofSeveral = (topology: Topology): StudyModel => ({
  models: isNetworkModelled,
  observationsIn: (trial) => networkObservations(trial, topology).length,
  fit: (trials, percentile, candidates) =>
    createNetworkPredictor(trials, topology, { ...createDraw(percentile), requests: NETWORK_REQUESTS }, candidates),
  mostSimulations: 400,
});

export const createStudyModel = (topology: Topology | undefined): StudyModel =>
  topology ? ofSeveral(topology) : ofOne;
