import { NS_PER_US } from '#base/units.ts';
import type { Measurement } from '#profiler/measurement.ts';
import type { ServerBreakdown } from '#profiler/server-figures.ts';
import { stageBreakdowns } from '#profiler/stage-breakdowns.ts';
import type { Call, Step } from '#queueing/network/types.ts';
import type { Topology } from '#space/topology.ts';
import { fitLine } from '../affine-line.ts';
import type { ServicePoint } from '../observation.ts';

/**
 * A BLS model's calls of others: their number, by the server's counts; in turn or at once,
 * whichever explains its times better.
 */
export interface ObservedCaller {
  readonly counts: readonly CallCount[];
  readonly inParallel: boolean;
}

/** Calls of one model by another. */
interface CallCount {
  readonly model: string;
  /** Requests to it per request to the caller. */
  readonly perRequest: number;
  /** Samples of such a request. */
  readonly samplesPerCall: number;
  /** Samples of a request to the caller. */
  readonly samplesPerRequest: number;
}

export type ObservedCalls = ReadonlyMap<string, ObservedCaller>;

/** The least share of an execution's time that is its own, whatever the estimate for its calls. */
const MIN_OWN = 0.02;
/**
 * Parallel calls end with the last of them. If they only wait for each other, that is later than
 * their mean by their mean time in the queue; if they also wait for other callers' calls, by less.
 * This share of it is assumed.
 */
const LATER_THAN_MEAN = 0.6;
/**
 * Calls are assumed to be in turn, as in most code, unless parallel calls lower the sum of squared
 * misses by this much.
 */
const MIN_EVIDENCE = 2e-3;
/** A ratio of counts within this of one request per request counts as one. */
const ALIKE = 0.05;

/** Returns the calls of each BLS model, from the counts of all measurements together. */
export function observedCalls(measurements: readonly Measurement[], topology: Topology): ObservedCalls {
  const callers = Object.entries(topology.calls ?? {});
  if (callers.length === 0) return new Map();
  const breakdowns = measurements.map((measurement) => stageBreakdowns(measurement, topology));
  return new Map(
    callers.map(([caller, models]) => {
      const known = models.filter((model) => topology.stages.includes(model));
      const counts = known.flatMap((model) => findCallCount(caller, model, breakdowns, topology) ?? []);
      return [caller, { counts, inParallel: isRatherParallel(caller, counts, breakdowns) }];
    }),
  );
}

function findCallCount(
  caller: string,
  model: string,
  breakdowns: readonly ReadonlyMap<string, ServerBreakdown>[],
  topology: Topology,
): CallCount | null {
  const both = breakdowns.filter((each) => each.has(caller) && each.has(model));
  const total = (stage: string, of: (server: ServerBreakdown) => number): number =>
    both.reduce((sum, each) => sum + of(each.get(stage) as ServerBreakdown), 0);
  const [requests, samples] = [
    total(caller, ({ successCount }) => successCount),
    total(caller, ({ inferenceCount }) => inferenceCount),
  ];
  const [called, calledSamples] = [
    total(model, ({ successCount }) => successCount),
    total(model, ({ inferenceCount }) => inferenceCount),
  ];
  if (!(requests > 0 && called > 0)) return null;
  // Requests of an ensemble's steps are no calls; the rest is divided among the callers.
  const steps = both.reduce((sum, each) => sum + stepRequests(model, each, topology), 0);
  const callers = Object.values(topology.calls ?? {}).filter((models) => models.includes(model)).length;
  const perRequest = Math.max(0, called - steps) / callers / requests;
  return {
    model,
    perRequest,
    samplesPerCall: calledSamples / called,
    samplesPerRequest: Math.max(1, samples / requests),
  };
}

/**
 * Returns the requests that a stage got as a step of ensembles; a model that clients call is its
 * own step.
 */
function stepRequests(
  model: string,
  breakdowns: ReadonlyMap<string, ServerBreakdown>,
  { fronts, stages }: Topology,
): number {
  return fronts.reduce((sum, { model: front, steps }) => {
    const times = timesIn(steps, model);
    if (times === 0) return sum;
    // Every step of an ensemble has as many requests as any step that is not used elsewhere.
    const others = stages.filter((stage) => stage !== model && timesIn(steps, stage) === 1);
    const count =
      breakdowns.get(front)?.successCount ??
      Math.min(...others.map((stage) => breakdowns.get(stage)?.successCount ?? 0));
    return sum + (Number.isFinite(count) ? times * count : 0);
  }, 0);
}

const timesIn = (steps: readonly Step[], model: string): number =>
  steps.reduce((sum, step) => sum + ('stage' in step ? Number(step.stage === model) : timesIn(step.steps, model)), 0);

/** Returns the time of one execution's calls, in nanoseconds. */
function callsNs(
  { counts, inParallel }: ObservedCaller,
  batchSize: number,
  breakdowns: ReadonlyMap<string, ServerBreakdown>,
): number {
  return counts.reduce((sum, { model, perRequest, samplesPerRequest }) => {
    const server = breakdowns.get(model);
    if (!server) return sum;
    const calls = (perRequest * batchSize) / samplesPerRequest;
    const insideUs = server.queueUs + server.computeInputUs + server.computeInferUs + server.computeOutputUs;
    const eachNs = Math.max(insideUs, server.requestUs) * NS_PER_US;
    const lastNs = calls > 1 ? eachNs + LATER_THAN_MEAN * server.queueUs * NS_PER_US : calls * eachNs;
    return sum + (inParallel ? lastNs : calls * eachNs);
  }, 0);
}

/**
 * Returns the own time of a stage's executions, from their whole time and batch size; all of it for
 * a stage that calls nothing.
 */
export function ownTimeNs(
  stage: string,
  breakdowns: ReadonlyMap<string, ServerBreakdown>,
  calls: ObservedCalls,
): (meanExecutionNs: number, batchSize: number) => number {
  const caller = calls.get(stage);
  if (!caller || caller.counts.length === 0) return (ns) => ns;
  return (ns, batchSize) => Math.max(MIN_OWN * ns, ns - callsNs(caller, batchSize, breakdowns));
}

/**
 * True if the time left after parallel calls is closer to a line in the batch size than the time
 * left after calls in turn.
 */
function isRatherParallel(
  caller: string,
  counts: readonly CallCount[],
  breakdowns: readonly ReadonlyMap<string, ServerBreakdown>[],
): boolean {
  const [inTurn, atOnce] = [false, true].map((inParallel) => {
    const points = breakdowns.flatMap((each) =>
      (each.get(caller)?.batches ?? []).map(({ size, executions, meanExecutionUs }): ServicePoint => {
        const wholeNs = meanExecutionUs * NS_PER_US;
        const leftNs = wholeNs - callsNs({ counts, inParallel }, size, each);
        const executionNs = Math.max(MIN_OWN * wholeNs, leftNs);
        // Misses count relative to the whole execution, because calls cannot take longer than that.
        const weight = (executions / (executions + 10)) * (executionNs / wholeNs) ** 2;
        return { settingsKey: '', batchSize: size, busyInstances: 1, executionNs, weight };
      }),
    );
    if (points.length === 0) return 0;
    const excess = breakdowns.reduce((sum, each) => sum + computeExcess(caller, { counts, inParallel }, each), 0);
    return (
      fitLine(
        points,
        points.map(() => 1),
      ).loss + excess
    );
  }) as [number, number];
  return atOnce + MIN_EVIDENCE < inTurn;
}

/**
 * Returns the excess of the calls' time over that of the calling executions: the squares of the
 * relative excess.
 */
function computeExcess(
  caller: string,
  calls: ObservedCaller,
  breakdowns: ReadonlyMap<string, ServerBreakdown>,
): number {
  return (breakdowns.get(caller)?.batches ?? []).reduce((sum, { size, meanExecutionUs }) => {
    const wholeNs = meanExecutionUs * NS_PER_US;
    return sum + Math.max(0, callsNs(calls, size, breakdowns) / wholeNs - 1) ** 2;
  }, 0);
}

/**
 * Returns the calls of a BLS model for a simulation: one after the other, each of its requests in
 * turn or at once.
 */
export function networkCalls({ counts, inParallel }: ObservedCaller): readonly Call[] {
  return counts
    .filter(({ perRequest }) => perRequest > 0)
    .map(({ model, perRequest, samplesPerCall, samplesPerRequest }) => {
      const isWhole = Math.abs(perRequest - 1) <= ALIKE && Math.abs(samplesPerCall / samplesPerRequest - 1) <= ALIKE;
      const steps = [{ stage: model }];
      return isWhole
        ? { steps, inParallel }
        : { steps, inParallel, requestsPerSample: roundedNear((perRequest * samplesPerCall) / samplesPerRequest) };
    });
}

/**
 * Counts of whole requests are whole numbers, except for requests in progress at the edges of a
 * measurement.
 */
const roundedNear = (ratio: number): number =>
  Math.abs(ratio / Math.round(ratio) - 1) <= ALIKE ? Math.round(ratio) : ratio;
