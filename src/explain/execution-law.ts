import { NS_PER_US } from '#base/units.ts';
import { type ExecutionLaws, fitExecutionLaws, listPoints } from '#perfmodel/execution-laws.ts';
import type { Choice } from '#perfmodel/modelled-config.ts';
import type { Observation } from '#perfmodel/observation.ts';
import type { ServerBreakdown } from '#profiler/server-figures.ts';
import type { IntervalWork } from './readings.ts';

/** Executions of a batch size from which on its time counts as known. */
export const MIN_EXECUTIONS = 20;

/** Groups of intervals, from the idlest to the busiest. */
const MAX_GROUPS = 12;

/**
 * Returns the mean number of busy instances during an execution of this size, its own included,
 * while `meanBusy` are busy in the mean; null if that is not known.
 */
export type BusyDuring = (batchSize: number, meanBusy: number) => number | null;

/**
 * Fits the law of execution times to what was served, in groups of intervals with similar load: how
 * instances slow each other shows only where more of them are busy at some times than at others.
 * `busyDuring`: by default, each instance is busy independently of the others. null without
 * executions by batch size.
 */
export function fitSeenLaw(
  choice: Choice,
  intervals: readonly IntervalWork[],
  busyDuring: BusyDuring = () => null,
): ExecutionLaws | null {
  const busy = intervals.filter(hasServed).sort((a, b) => busyInstances(a) - busyInstances(b));
  const groups = Array.from({ length: MAX_GROUPS }, (_, index) => {
    const at = (part: number): number => Math.round((part * busy.length) / MAX_GROUPS);
    return busy.slice(at(index), at(index + 1));
  });
  const points = groups
    .filter((group) => group.length > 0)
    .flatMap((group) => {
      const seconds = group.reduce((sum, each) => sum + each.seconds, 0);
      const meanBusy = group.reduce((sum, each) => sum + each.seconds * busyInstances(each), 0) / seconds;
      return listPoints({ choice, observations: [toObservation(choice, group)] }).map((point) => ({
        ...point,
        busyInstances: busyDuring(point.batchSize, meanBusy) ?? point.busyInstances,
      }));
    });
  return fitExecutionLaws([{ choice, points }]);
}

type Working = IntervalWork & { readonly breakdown: ServerBreakdown };

export const hasServed = (served: IntervalWork): served is Working => served.breakdown !== null;

/** Returns the mean number of busy instances: execution time per time. */
export const busyInstances = ({ seconds, breakdown }: Working): number =>
  breakdown.batches.reduce((sum, { executions, meanExecutionUs }) => sum + executions * meanExecutionUs, 0) /
  1e6 /
  seconds;

/** Returns the samples of a mean request. */
export const samplesPerRequest = ({ successCount, inferenceCount }: ServerBreakdown): number =>
  successCount > 0 ? Math.max(1, inferenceCount / successCount) : 1;

/** Returns the samples of a mean execution. */
export const meanBatch = ({ inferenceCount, executionCount }: ServerBreakdown): number =>
  inferenceCount / Math.max(1, executionCount);

function toObservation(choice: Choice, group: readonly Working[]): Observation {
  const sum = (of: (served: Working) => number): number => group.reduce((total, each) => total + of(each), 0);
  const requests = sum(({ breakdown }) => breakdown.successCount);
  const perRequest = (of: (breakdown: ServerBreakdown) => number): number =>
    sum(({ breakdown }) => breakdown.successCount * of(breakdown)) / requests;
  const bySize = Map.groupBy(
    group.flatMap(({ breakdown }) => breakdown.batches),
    ({ size }) => size,
  );
  const batches = [...bySize].map(([batchSize, all]) => {
    const executions = all.reduce((total, each) => total + each.executions, 0);
    const timeUs = all.reduce((total, each) => total + each.executions * each.meanExecutionUs, 0);
    return { batchSize, executions, meanExecutionNs: (timeUs / executions) * NS_PER_US };
  });
  const computeUs = perRequest((each) => each.computeInputUs + each.computeInferUs + each.computeOutputUs);
  const latencyNs = perRequest((each) => each.requestUs) * NS_PER_US;
  const samples = sum(({ breakdown }) => breakdown.inferenceCount) / requests;
  const executions = batches.reduce((total, each) => total + each.executions, 0);
  const executed = batches.reduce((total, each) => total + each.batchSize * each.executions, 0);
  return {
    settingsKey: choice.settingsKey,
    policy: choice.policy,
    // Independent clients fill any number of instances at times.
    concurrency: Math.max(1, (choice.policy.instances * executed) / Math.max(1, executions) / samples),
    samplesPerRequest: samples,
    requestsPerSecond: requests / sum(({ seconds }) => seconds),
    // The server does not tell how latencies are spread, and this fit needs only executions.
    latencyNs: { p50: latencyNs, p99: latencyNs },
    roundTripNs: perRequest((each) => each.overheadUs) * NS_PER_US,
    split: {
      input: perRequest((each) => each.computeInputUs) / computeUs,
      output: perRequest((each) => each.computeOutputUs) / computeUs,
    },
    batches,
  };
}
