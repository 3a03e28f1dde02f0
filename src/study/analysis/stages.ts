import { lookUp } from '#base/look-up.ts';
import { MS_PER_S } from '#base/units.ts';
import type { Measurement } from '#profiler/measurement.ts';
import type { ServerBreakdown } from '#profiler/server-figures.ts';
import { answeredPerSecond, countedMs, stageBreakdowns } from '#profiler/stage-breakdowns.ts';
import type { Topology } from '#space/topology.ts';
import type { CandidateShape } from '#space/types.ts';

const US_PER_MS = 1e3;

/**
 * Where the time goes in one stage: means of one request to the stage, in milliseconds. They add up
 * to its time in the server, except for overhead.
 */
export interface StageSplit {
  readonly model: string;
  /**
   * Requests that it answered per client request; for co-located models, its share of all requests.
   */
  readonly timesPerRequest: number;
  readonly queueMs: number;
  /** In executions: input, inference and output, without the calls of a BLS model. */
  readonly computeMs: number;
  /**
   * Time that an execution waited for the models that it calls, which may run in parallel. 0 for a
   * model that calls none.
   */
  readonly callsMs: number;
  /** Samples of the mean execution; null if none was counted. */
  readonly batchSize: number | null;
  /** null if the candidate does not specify it. */
  readonly instances: number | null;
  /**
   * Busy instances over all instances, 0 to 1; null if unknown. An instance that waits for calls is
   * busy.
   */
  readonly busy: number | null;
}

/** Returns the split of each stage with server statistics, in the order of the topology. */
export function stageSplits(
  measurement: Measurement,
  topology: Topology,
  { members = {} }: Pick<CandidateShape, 'members'>,
): readonly StageSplit[] {
  const stages = stageBreakdowns(measurement, topology);
  const answered = answeredPerSecond(measurement);
  return [...stages].map(([model, server]) => {
    const computeMs = sumCompute(server);
    const callsMs = Math.min(computeMs, countCalls(model, server, stages, topology));
    const durationMs = countedMs(measurement, model);
    const instances = lookUp(members, model)?.policy.instances ?? null;
    const busyMs =
      server.batches.reduce((sum, { executions, meanExecutionUs }) => sum + executions * meanExecutionUs, 0) /
      US_PER_MS;
    return {
      model,
      timesPerRequest: answered > 0 && durationMs > 0 ? (server.successCount * MS_PER_S) / durationMs / answered : 0,
      queueMs: server.queueUs / US_PER_MS,
      computeMs: computeMs - callsMs,
      callsMs,
      batchSize: server.executionCount > 0 ? server.inferenceCount / server.executionCount : null,
      instances,
      busy: instances && durationMs > 0 && busyMs > 0 ? Math.min(1, busyMs / (instances * durationMs)) : null,
    };
  });
}

/** Returns the stage with the busiest instances; null unless that is known for at least two. */
export function busiestStage(splits: readonly StageSplit[]): StageSplit | null {
  const known = splits.filter(({ busy }) => busy !== null);
  if (known.length < 2) return null;
  return known.reduce((most, split) => ((split.busy ?? 0) > (most.busy ?? 0) ? split : most));
}

const sumCompute = ({ computeInputUs, computeInferUs, computeOutputUs }: ServerBreakdown): number =>
  (computeInputUs + computeInferUs + computeOutputUs) / US_PER_MS;

/** The time that the models it calls took for one of its requests, one after the other. */
function countCalls(
  model: string,
  { successCount }: ServerBreakdown,
  stages: ReadonlyMap<string, ServerBreakdown>,
  { calls = {} }: Topology,
): number {
  return (lookUp(calls, model) ?? []).reduce((sum, called) => {
    const server = stages.get(called);
    return server && successCount > 0 ? sum + (server.requestUs * server.successCount) / successCount / US_PER_MS : sum;
  }, 0);
}
