import { NS_PER_MS, NS_PER_S, NS_PER_US } from '#base/units.ts';
import type { Measurement } from '#profiler/measurement.ts';
import type { ServerBreakdown } from '#profiler/server-figures.ts';
import { stageBreakdowns } from '#profiler/stage-breakdowns.ts';
import type { Topology } from '#space/topology.ts';
import type { Choice } from '../modelled-config.ts';
import type { Observation } from '../observation.ts';
import { isUsable } from '../observations.ts';
import { type ObservedCalls, ownTimeNs } from './observed-calls.ts';

/** One measurement's data of one stage. */
export interface StageObservation {
  readonly stage: string;
  readonly choice: Choice;
  /**
   * The stage as its own closed loop, with its mean number of requests in flight; executions
   * without their calls.
   */
  readonly observation: Observation;
  /** Mean number of executing instances, without those that wait for calls. */
  readonly running: number;
  /**
   * The share of its executions' time outside calls, 0 to 1. That part's relative uncertainty is
   * the whole's divided by this share.
   */
  readonly ownShare: number;
}

/** One measurement's data of the network. */
export interface NetworkObservation {
  readonly choice: Choice;
  readonly measurement: Measurement;
  readonly stages: ReadonlyMap<string, StageObservation>;
}

/**
 * Returns a measurement's data of each stage; null if it was disturbed. A stage without statistics
 * is left out.
 */
export function networkObservation(
  choice: Choice,
  measurement: Measurement,
  topology: Topology,
  calls: ObservedCalls,
): NetworkObservation | null {
  if (!isUsable(measurement)) return null;
  const breakdowns = stageBreakdowns(measurement, topology);
  const perSecond = requestRates(measurement, topology, breakdowns);
  const stages = new Map<string, StageObservation>();
  for (const [stage, server] of breakdowns) {
    const ownChoice = choice.members?.get(stage);
    const rate = perSecond(stage);
    if (!ownChoice || !(rate > 0)) continue;
    stages.set(stage, stageObservation(stage, ownChoice, server, rate, ownTimeNs(stage, breakdowns, calls)));
  }
  return { choice, measurement, stages };
}

function stageObservation(
  stage: string,
  choice: Choice,
  server: ServerBreakdown,
  requestsPerSecond: number,
  ownNs: (meanExecutionNs: number, batchSize: number) => number,
): StageObservation {
  const { policy, settingsKey } = choice;
  const computeUs = server.computeInputUs + server.computeInferUs + server.computeOutputUs;
  const meanNs = (server.queueUs + computeUs) * NS_PER_US;
  const samplesPerRequest = Math.max(1, server.inferenceCount / Math.max(1, server.successCount));
  const batches = server.batches.map(({ size, executions, meanExecutionUs }) => ({
    batchSize: size,
    executions,
    meanExecutionNs: ownNs(meanExecutionUs * NS_PER_US, size),
  }));
  const samples = batches.reduce((sum, { batchSize, executions }) => sum + batchSize * executions, 0);
  const busyNs = batches.reduce((sum, { executions, meanExecutionNs }) => sum + executions * meanExecutionNs, 0);
  const wholeNs = server.batches.reduce(
    (sum, { executions, meanExecutionUs }) => sum + executions * meanExecutionUs * NS_PER_US,
    0,
  );
  const running = samples > 0 ? (requestsPerSecond * samplesPerRequest * busyNs) / samples / NS_PER_S : 0;
  return {
    stage,
    choice,
    running,
    ownShare: wholeNs > 0 ? Math.min(1, busyNs / wholeNs) : 1,
    observation: {
      settingsKey,
      policy,
      samplesPerRequest,
      requestsPerSecond,
      batches,
      concurrency: Math.max(1, (requestsPerSecond * meanNs) / NS_PER_S),
      latencyNs: { p50: meanNs, p99: meanNs },
      roundTripNs: 0,
      split:
        computeUs > 0
          ? { input: server.computeInputUs / computeUs, output: server.computeOutputUs / computeUs }
          : NO_SPLIT,
    },
  };
}

const NO_SPLIT = { input: 0, output: 0 };

/**
 * Returns the requests per second of a stage: in the ratio of its requests to those of a front,
 * whose throughput the client knows; by the duration if the server reports no front.
 */
function requestRates(
  { server, fronts = [], throughput, durationMs }: Measurement,
  topology: Topology,
  breakdowns: ReadonlyMap<string, ServerBreakdown>,
): (stage: string) => number {
  const only =
    topology.fronts.length === 1 ? [{ model: topology.fronts[0]?.model ?? '', server, throughput, composing: [] }] : [];
  const counted = [...only, ...fronts].flatMap((front) => {
    const requests = front.server?.successCount ?? 0;
    const samples = front.server?.inferenceCount ?? 0;
    if (!(requests > 0 && samples > 0)) return [];
    const inside = new Set((front.composing ?? []).map(({ model }) => model));
    return [{ model: front.model, inside, perCount: front.throughput.value / samples }];
  });
  return (stage) => {
    const count = breakdowns.get(stage)?.successCount ?? 0;
    const source =
      counted.find(({ model }) => model === stage) ?? counted.find(({ inside }) => inside.has(stage)) ?? counted[0];
    if (source) return count * source.perCount;
    return durationMs > 0 ? count / (durationMs / (NS_PER_S / NS_PER_MS)) : 0;
  };
}
