import { NS_PER_S } from '#base/units.ts';
import { type BatcherPolicy, busyBeside } from '#queueing/batcher-policy.ts';

/** The server's statistics of one measurement in a closed loop. */
export type Observation = {
  /** Observations with the same key share a service law; others share its shape up to a factor. */
  readonly settingsKey: string;
  readonly policy: BatcherPolicy;
  readonly concurrency: number;
  /** The known arrivals, or an excerpt of them; absent for a closed loop, and if unknown. */
  readonly arrivalsNs?: Float64Array;
  readonly samplesPerRequest: number;
  readonly requestsPerSecond: number;
  /** Latency as clients measured it. */
  readonly latencyNs: { readonly p50: number; readonly p99: number };
  /** Mean time of a request outside its queue and its execution: client, network, front end. */
  readonly roundTripNs: number;
  /** Shares of an execution's time that are compute-input and compute-output. */
  readonly split: { readonly input: number; readonly output: number };
  /** Executions by batch size with their mean time; empty if the server does not report them. */
  readonly batches: readonly ObservedBatch[];
};

type ObservedBatch = {
  readonly batchSize: number;
  readonly executions: number;
  readonly meanExecutionNs: number;
};

/**
 * A mean execution time, and the mean number of instances that were busy on its device during such
 * an execution, including its own.
 */
export type ServicePoint = {
  readonly settingsKey: string;
  readonly batchSize: number;
  readonly busyInstances: number;
  readonly executionNs: number;
  /** From 0 to 1, rising with the number of executions. */
  readonly weight: number;
};

/**
 * The number of executions of a batch size from which on their mean counts: a single one may be the
 * first of its instance.
 */
const MIN_EXECUTIONS = 2;
const EXECUTIONS_FOR_HALF_WEIGHT = 10;

/** Returns the mean execution times of an observation by batch size. */
export function servicePoints(observation: Observation): ServicePoint[] {
  const busyInstances = busyDuringExecution(observation);
  return observation.batches
    .filter(
      ({ batchSize, executions, meanExecutionNs }) =>
        batchSize >= 1 && executions >= MIN_EXECUTIONS && meanExecutionNs > 0,
    )
    .map(({ batchSize, executions, meanExecutionNs }) => ({
      settingsKey: observation.settingsKey,
      batchSize,
      busyInstances,
      executionNs: meanExecutionNs,
      weight: executions / (executions + EXECUTIONS_FOR_HALF_WEIGHT),
    }));
}

/**
 * Returns the mean number of busy instances during an execution. Little's law gives the mean number
 * of busy instances: the rate of samples times the execution time per sample. Every other instance
 * is assumed to be busy for that share of the time; their number is at most the number of batches
 * of the mean size in flight.
 */
function busyDuringExecution(observation: Observation): number {
  const seen = seenExecutions(observation);
  if (!seen) return 1;
  const most = Math.max(1, Math.min(observation.policy.instances, seen.batchesInFlight));
  return busyBeside(observation.policy, 1 + (most - 1) * Math.min(1, seen.meanBusy / most));
}

/** Totals over all executions of an observation. */
export type SeenExecutions = {
  readonly meanBatch: number;
  /** The mean number of concurrent executions, by Little's law. */
  readonly meanBusy: number;
  /** The number of batches of the mean size that the requests in flight fill. */
  readonly batchesInFlight: number;
};

/** Returns the totals over all executions; null if the statistics have none. */
export function seenExecutions(observation: Observation): SeenExecutions | null {
  const { batches, concurrency, requestsPerSecond, samplesPerRequest } = observation;
  const sum = (of: (batch: ObservedBatch) => number): number => batches.reduce((total, batch) => total + of(batch), 0);
  const samples = sum(({ executions, batchSize }) => executions * batchSize);
  const executions = sum((batch) => batch.executions);
  if (samples === 0) return null;
  const busyNs = sum((batch) => batch.executions * batch.meanExecutionNs);
  return {
    meanBatch: samples / executions,
    meanBusy: (requestsPerSecond * samplesPerRequest * busyNs) / samples / NS_PER_S,
    batchesInFlight: (concurrency * samplesPerRequest * executions) / samples,
  };
}

/** True if an observation has execution times by batch size. */
export const hasServicePoints = (observation: Observation): boolean => servicePoints(observation).length > 0;

/** Returns the mean of the observations' splits; needs at least one observation. */
export function meanSplit(observations: readonly Observation[]): Observation['split'] {
  const mean = (of: (observation: Observation) => number): number =>
    observations.reduce((sum, observation) => sum + of(observation), 0) / observations.length;
  return { input: mean(({ split }) => split.input), output: mean(({ split }) => split.output) };
}
