import { NS_PER_S } from '../base/units.ts';
import type { BatcherPolicy } from './batcher-policy.ts';

/** What a server's own statistics say of a closed loop that it served. */
export type Observation = {
  /** Observations of one variant of the model share a law; others share its shape, but for a factor. */
  readonly variant: string;
  readonly policy: BatcherPolicy;
  readonly concurrency: number;
  readonly samplesPerRequest: number;
  readonly requestsPerSecond: number;
  /** As the clients saw it. */
  readonly latencyNs: { readonly p50: number; readonly p99: number };
  /** Mean time of a request outside its queue and its execution: client, network, front end. */
  readonly roundTripNs: number;
  /** Shares of an execution's time that are compute-input and compute-output. */
  readonly split: { readonly input: number; readonly output: number };
  /** Executions by batch size with their mean time; empty when the server does not tell. */
  readonly batches: readonly ObservedBatch[];
};

type ObservedBatch = {
  readonly batchSize: number;
  readonly executions: number;
  readonly meanExecutionNs: number;
};

/** A mean execution time, and how many instances were busy during such an execution, itself included. */
export type ServicePoint = {
  readonly variant: string;
  readonly batchSize: number;
  readonly busyInstances: number;
  readonly executionNs: number;
  /** From 0 to 1: the more executions the mean is of, the nearer to 1. */
  readonly weight: number;
};

/** A single execution tells too little: it may be the first of its instance. */
const LEAST_EXECUTIONS = 2;
const EXECUTIONS_FOR_HALF_WEIGHT = 10;

export function servicePoints(observation: Observation): ServicePoint[] {
  const busyInstances = busyDuringExecution(observation);
  return observation.batches
    .filter(
      ({ batchSize, executions, meanExecutionNs }) =>
        batchSize >= 1 && executions >= LEAST_EXECUTIONS && meanExecutionNs > 0,
    )
    .map(({ batchSize, executions, meanExecutionNs }) => ({
      variant: observation.variant,
      batchSize,
      busyInstances,
      executionNs: meanExecutionNs,
      weight: executions / (executions + EXECUTIONS_FOR_HALF_WEIGHT),
    }));
}

/**
 * Little's law gives the mean number of busy instances: the rate of samples times an execution's time per sample. Beside
 * the one that executes, each of the others is taken to be busy that share of the time; of these there are no more than
 * batches of the mean size can be made of what is in flight.
 */
function busyDuringExecution(observation: Observation): number {
  const seen = seenExecutions(observation);
  if (!seen) return 1;
  const most = Math.max(1, Math.min(observation.policy.instances, seen.batchesInFlight));
  return 1 + (most - 1) * Math.min(1, seen.meanBusy / most);
}

/** What the statistics say of all executions together; null when they have none. */
export type SeenExecutions = {
  readonly meanBatch: number;
  /** Executions at the same time, by Little's law. */
  readonly meanBusy: number;
  /** Of the mean size, as many as can be made of what is in flight. */
  readonly batchesInFlight: number;
};

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

/** Whether it has execution times by batch size. */
export const hasServicePoints = (observation: Observation): boolean => servicePoints(observation).length > 0;

/** The mean of the observations' splits; needs one at least. */
export function meanSplit(observations: readonly Observation[]): Observation['split'] {
  const mean = (of: (observation: Observation) => number): number =>
    observations.reduce((sum, observation) => sum + of(observation), 0) / observations.length;
  return { input: mean(({ split }) => split.input), output: mean(({ split }) => split.output) };
}
