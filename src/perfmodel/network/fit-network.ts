import type { Measurement } from '#profiler/measurement.ts';
import type { Topology } from '#space/topology.ts';
import { type ExecutionLaws, fitExecutionLaws, listPoints, type Timed } from '../execution-laws.ts';
import type { Choice } from '../modelled-config.ts';
import { seenExecutions } from '../observation.ts';
import { WHOLE, type WithoutParts } from '../parts.ts';
import type { MeasuredChoice, ServiceModelOptions } from '../service-model.ts';
import {
  computeStretch,
  type DeviceKind,
  fitSharing,
  type Running,
  type SharedPoints,
  type Sharing,
  toDevice,
} from './device-sharing.ts';
import { type ObservedCalls, observedCalls } from './observed-calls.ts';
import { type NetworkObservation, networkObservation, type StageObservation } from './stage-observations.ts';

/** A network fitted to the statistics of its stages, whatever the config. */
export interface FittedNetwork {
  readonly topology: Topology;
  readonly calls: ObservedCalls;
  readonly observations: readonly NetworkObservation[];
  /**
   * Laws of the executions of each stage, without their calls and the disturbance by other stages;
   * none for a stage without statistics.
   */
  readonly laws: ReadonlyMap<string, ExecutionLaws>;
  /**
   * The sharing of each device by its stages, by the device's name; none for a device with one
   * stage.
   */
  readonly sharing: ReadonlyMap<string, Sharing>;
  /** Samples per request of a front, if the study does not vary them. */
  readonly samplesPerRequest: ReadonlyMap<string, number>;
}

/**
 * The most batch sizes per measurement, the most frequent ones, that show the slowdown between
 * stages.
 */
const MAX_SIZES = 4;

/**
 * Fits the laws of each stage to its own statistics, over all measured configs, and the slowdown
 * between stages on a device.
 */
export function fitNetwork(
  measured: readonly MeasuredChoice[],
  topology: Topology,
  without: WithoutParts = WHOLE,
  expectedTime?: ServiceModelOptions['expectedTime'],
): FittedNetwork {
  const calls = observedCalls(
    measured.flatMap(({ measurements }) => measurements),
    topology,
  );
  const observations = measured.flatMap(({ choice, measurements }) =>
    measurements.flatMap((measurement) => networkObservation(choice, measurement, topology, calls) ?? []),
  );
  const sharing: FittedNetwork['sharing'] = without.has('sharing')
    ? new Map()
    : fitSharings(
        topology.stages,
        measured.map(({ choice }) => choice),
        observations,
      );
  const lengthened = (network: NetworkObservation, stage: StageObservation): number => {
    const fit = sharing.get(toDevice(stage.choice).name);
    return fit
      ? computeStretch(fit.likeliest, fit.interferenceByStage.get(stage.stage), sharedPoints(network, stage))
      : 1;
  };
  const onGpu = new Set(
    observations.flatMap(({ stages }) =>
      [...stages.values()].filter(({ choice }) => toDevice(choice).kind === 'gpu').map(({ stage }) => stage),
    ),
  );
  const shared = new Set(
    [...sharing.values()].flatMap(({ interferenceByStage: own }) => [...own.keys()]).filter((each) => onGpu.has(each)),
  );
  const withoutIdleInterference: WithoutParts = { has: (part) => part === 'idle-interference' || without.has(part) };
  // On a shared GPU instances slow each other only while they run; idle ones take nothing. On cores
  // idle ones poll and hold threads.
  const laws = fitLaws(
    topology.stages,
    observations,
    lengthened,
    (stage) => (shared.has(stage) ? withoutIdleInterference : without),
    calls,
    (stage) => expectedTime && ((candidate) => expectedTime(candidate, stage)),
  );
  return { topology, calls, observations, laws, sharing, samplesPerRequest: listSamples(observations, topology) };
}

type Lengthened = (network: NetworkObservation, stage: StageObservation) => number;

/** Fits the laws of each stage to executions without the time added by other stages. */
function fitLaws(
  stages: readonly string[],
  observations: readonly NetworkObservation[],
  lengthened: Lengthened,
  findWithout: (stage: string) => WithoutParts,
  calls: ObservedCalls,
  findExpected: (stage: string) => ServiceModelOptions['expectedTime'],
): ReadonlyMap<string, ExecutionLaws> {
  return new Map(
    stages.flatMap((stage) => {
      const timed = observations.flatMap((network): Timed[] => {
        const observation = network.stages.get(stage);
        if (!observation) return [];
        const stretch = lengthened(network, observation);
        const points = listPoints({ choice: observation.choice, observations: [observation.observation] });
        return [
          {
            choice: observation.choice,
            points: points.map((point) => ({
              ...point,
              busyInstances: Math.max(point.busyInstances, goOnTogether(observation, network, calls)),
              executionNs: point.executionNs / stretch,
              // The relative error of the time without calls is that of the whole over this share;
              // weights are inverse variances.
              weight: point.weight * observation.ownShare ** 2,
            })),
          },
        ];
      });
      const laws = fitExecutionLaws(timed, findWithout(stage), findExpected(stage));
      return laws ? [[stage, laws] as const] : [];
    }),
  );
}

/**
 * Returns the mean number of instances of a caller that execute when one does, given the batches in
 * which their calls return: instances released by one batch end and begin again together, one after
 * the other. 1 for a stage that calls nothing.
 */
function goOnTogether(
  { stage, choice }: StageObservation,
  { stages }: NetworkObservation,
  calls: ObservedCalls,
): number {
  const caller = calls.get(stage);
  const released = (caller?.counts ?? []).flatMap(({ model, perRequest, samplesPerCall }) => {
    const called = stages.get(model);
    const seen = called && seenExecutions(called.observation);
    if (!seen || perRequest === 0) return [];
    return [seen.meanBatch / samplesPerCall / (caller?.inParallel ? Math.max(1, perRequest) : 1)];
  });
  if (released.length === 0) return 1;
  return (1 + Math.min(choice.policy.instances, Math.max(1, Math.min(...released)))) / 2;
}

/** Fits each device that has two stages or more in some config. */
function fitSharings(
  stages: readonly string[],
  choices: readonly Choice[],
  observations: readonly NetworkObservation[],
): ReadonlyMap<string, Sharing> {
  const devices = new Map<string, { readonly kind: DeviceKind; readonly stages: Set<string> }>();
  for (const { members } of choices)
    for (const stage of stages) {
      const choice = members?.get(stage);
      if (!choice) continue;
      const { name, kind } = toDevice(choice);
      const device = devices.get(name) ?? { kind, stages: new Set<string>() };
      devices.set(name, device);
      device.stages.add(stage);
    }
  return new Map(
    [...devices]
      .filter(([, device]) => device.stages.size > 1)
      .map(([name, { kind, stages: on }]) => {
        const seen = observations.flatMap((network) =>
          [...network.stages.values()]
            .filter(({ choice }) => toDevice(choice).name === name)
            .map((stage) => sharedPoints(network, stage)),
        );
        return [name, fitSharing(kind, [...on], seen)] as const;
      }),
  );
}

/**
 * Returns the mean execution times of a stage in a measurement, with the executions of others on
 * its device.
 */
function sharedPoints({ measurement, stages }: NetworkObservation, stage: StageObservation): SharedPoints {
  const { name } = toDevice(stage.choice);
  const beside = new Map(
    [...stages.values()]
      .filter(({ choice }) => toDevice(choice).name === name)
      .map((each): [string, Running] => [each.stage, { instances: each.choice.policy.instances, mean: each.running }]),
  );
  const points = listPoints({ choice: stage.choice, observations: [stage.observation] })
    .sort((a, b) => b.weight - a.weight)
    .slice(0, MAX_SIZES);
  return { stage: stage.stage, points, beside, inFlight: inFlightIn(measurement) };
}

/** Returns the mean number of requests in flight, by Little's law. */
export const inFlightIn = ({ throughput, latencyMs, sendRate, level }: Measurement): number => {
  if (level.mode === 'concurrency') return level.value;
  return Math.max(1, ((sendRate > 0 ? sendRate : throughput.value) * latencyMs.avg) / 1e3);
};

function listSamples(observations: readonly NetworkObservation[], { fronts }: Topology): ReadonlyMap<string, number> {
  return new Map(
    fronts.map(({ model }) => {
      const ratios = observations.flatMap(({ measurement, stages }) => {
        const front = measurement.fronts?.find((each) => each.model === model);
        const server = front ? front.server : measurement.server;
        const samplesPerRequest = stages.get(model)?.observation.samplesPerRequest;
        if (samplesPerRequest !== undefined) return [samplesPerRequest];
        return server && server.successCount > 0 ? [server.inferenceCount / server.successCount] : [];
      });
      const usual = ratios.length > 0 ? ratios.reduce((sum, each) => sum + each, 0) / ratios.length : 1;
      return [model, Math.max(1, Math.round(usual))];
    }),
  );
}
