import { lookUp } from '#base/look-up.ts';
import type { RequestSet } from '#loadgen/types.ts';
import type { LevelOptions } from '#profiler/level-options.ts';
import type { Sending } from '#profiler/play.ts';
import { countStages, type Topology, type TopologyFront } from '#space/topology.ts';
import type { Candidate, CandidateShape } from '#space/types.ts';

/** Traffic to one model. */
export interface FrontTraffic extends Sending, Pick<LevelOptions, 'scheduleAt'> {
  /** `batch`: samples per request, if the study varies them. */
  readonly requestsFor: (candidate: Candidate, batch?: number) => RequestSet;
}

type FrontOnes = Required<
  Pick<LevelOptions, 'requests' | 'instances' | 'requestsPerExecution' | 'composing' | 'timesPerRequest'>
>;

/** The measured part of a front: the front of a topology, or one model alone. */
export interface MeasuredFront {
  readonly front: TopologyFront;
  readonly topology: Topology;
}

/**
 * Returns the options to measure a candidate, including what a warm-up must know about its
 * instances: with several stages, those of the stage that takes the most requests to be busy. The
 * statistics of the stages behind the front are read too.
 */
export function optionsFor(candidate: Candidate, requests: RequestSet, measured: MeasuredFront | null): FrontOnes {
  const reached = new Map(measured ? countStages(measured.front, measured.topology) : []);
  const members = [...reached.keys()].flatMap((stage) => lookUp(candidate.shape.members, stage) ?? []);
  const needs = (members.length > 0 ? members : [candidate.shape]).map((shape) => computeWake(shape, requests.batch));
  const widest = needs.reduce((most, need) => (countRequests(need) > countRequests(most) ? need : most));
  if (measured) reached.delete(measured.front.model);
  return { requests, ...widest, composing: [...reached.keys()], timesPerRequest: reached };
}

/** Without dynamic batching an execution takes one request. */
function computeWake({ policy }: CandidateShape, batch: number) {
  const { instances, dynamicBatching, maxBatchSize } = policy;
  return { instances, requestsPerExecution: dynamicBatching ? Math.max(1, Math.floor(maxBatchSize / batch)) : 1 };
}

const countRequests = ({ instances, requestsPerExecution }: ReturnType<typeof computeWake>): number =>
  instances * requestsPerExecution;
