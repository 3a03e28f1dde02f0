import { NS_PER_MS, NS_PER_S, nsToMs } from '#base/units.ts';
import type { BatcherPolicy } from '../batcher-policy.ts';
import { affineLaw, executionNs, type LawPoint, type ServiceLaw } from '../service-law.ts';
import { simulate } from '../simulate.ts';
import type { AloneRow } from './row.ts';

/** The unknowns of a server with timed lone executions. */
export type Unknowns = {
  /** Executions that run concurrently. */
  readonly atOnce: number;
  /**
   * Shape between two timed batch sizes: 0 linear, 1 the larger one's time from the first
   * additional sample on.
   */
  readonly stepShare: number;
  /** Relative slowdown by each additional concurrent execution: 1 by its whole time alone. */
  readonly perInstance: number;
  /**
   * Cost of an additional sample beyond the timed sizes, as a share of a sample's mean cost there.
   */
  readonly perSampleShare: number;
  /** Serial time of the front end for each request, before it is queued. */
  readonly frontEndMs: number;
  /** Ratio of execution times under traffic to lone ones. */
  readonly scale: number;
};

/** A server and its clients, with everything needed to predict a row of a table. */
export type CalibratedServer = {
  readonly policy: BatcherPolicy;
  readonly law: ServiceLaw;
  readonly roundTripNs: number;
  readonly jitterNs: number;
  /**
   * Length of measurement windows that leave out requests in progress at their edges; Infinity when
   * all were counted.
   */
  readonly windowNs: number;
};

/** Means per request in a closed loop at one concurrency, as in a row. */
export type PredictedRow = {
  readonly inferPerSecond: number;
  readonly p50Ms: number;
  readonly p99Ms: number;
  readonly queueMs: number;
  readonly computeMs: number;
  readonly outsideMs: number;
};

const SPREAD = 0.03;
/**
 * The number of starts that are averaged: clients rarely begin together, and the way their requests
 * first fall into batches persists.
 */
const BEGINNINGS = 4;
const RAMP_EXECUTIONS = 12;
const CYCLES_OF_WARM_UP = 9;
const CYCLES = 6;
const MIN_REQUESTS = 300;
/**
 * The least share of requests that windows count; latencies close to a window's length are not
 * modelled.
 */
const MIN_COUNTED = 0.2;

/** Returns the service law for timed lone executions and the given unknowns. */
export function calibratedLaw(
  alone: readonly AloneRow[],
  maxBatchSize: number,
  unknowns: Unknowns,
  split: ServiceLaw['split'],
): ServiceLaw {
  const timed = alone.map(({ batchSize, computeMs }) => ({
    batchSize,
    executionNs: computeMs * NS_PER_MS * unknowns.scale,
  }));
  const last = timed.at(-1) as LawPoint;
  const sampleNs = unknowns.perSampleShare * (last.executionNs / last.batchSize);
  const largest = Math.max(maxBatchSize, last.batchSize + 1);
  const beyond = { batchSize: largest, executionNs: last.executionNs + sampleNs * (largest - last.batchSize) };
  return {
    ...affineLaw(1, 1),
    points: [...timed.flatMap((point, index) => withStep(point, timed[index + 1], unknowns.stepShare)), beyond],
    interference: { perInstance: unknowns.perInstance, batchExponent: 0 },
    atOnce: unknowns.atOnce,
    cv: SPREAD,
    frontEndNs: unknowns.frontEndMs * NS_PER_MS,
    split,
  };
}

/**
 * Returns the point and another, one sample later, at the given share of the way to the next
 * point's time.
 */
function withStep(point: LawPoint, next: LawPoint | undefined, share: number): LawPoint[] {
  const between = next ? next.batchSize - point.batchSize : 0;
  if (!next || between < 2 || share === 0) return [point];
  const rise = (share + (1 - share) / between) * (next.executionNs - point.executionNs);
  return [point, { batchSize: point.batchSize + 1, executionNs: point.executionNs + rise }];
}

/** Predicts the row for this number of clients: the mean over several possible starts. */
export function predictRow(server: CalibratedServer, concurrency: number, samplesPerRequest: number): PredictedRow {
  const { policy, law, roundTripNs, jitterNs, windowNs } = server;
  const inFlight = Math.min(Math.max(1, policy.maxBatchSize), concurrency * samplesPerRequest);
  const rampNs = RAMP_EXECUTIONS * executionNs(law, inFlight, 1);
  const traffic = { kind: 'closed', concurrency, samplesPerRequest, roundTripNs, jitterNs, rampNs } as const;
  const sum = { inferPerSecond: 0, p50Ms: 0, p99Ms: 0, queueMs: 0, computeMs: 0, outsideMs: 0 };
  for (let seed = 1; seed <= BEGINNINGS; seed++) {
    const requests = Math.max(MIN_REQUESTS, CYCLES * concurrency);
    const run = simulate(policy, law, traffic, { warmUpRequests: CYCLES_OF_WARM_UP * concurrency, requests, seed });
    const counted = Math.max(MIN_COUNTED, 1 - run.latencyNs.mean / windowNs);
    sum.inferPerSecond += (run.requestsPerSecond * samplesPerRequest * counted) / BEGINNINGS;
    sum.p50Ms += nsToMs(run.latencyNs.p50) / BEGINNINGS;
    sum.p99Ms += nsToMs(run.latencyNs.p99) / BEGINNINGS;
    sum.queueMs += nsToMs(run.queueNs) / BEGINNINGS;
    sum.computeMs += nsToMs(run.computeNs) / BEGINNINGS;
    sum.outsideMs += nsToMs(run.latencyNs.mean - run.queueNs - run.computeNs) / BEGINNINGS;
  }
  return sum;
}

/**
 * Estimates the length of a client's windows. A client that counts only requests within a window
 * misses the mean latency's share of each. By Little's law the number of counted requests is then
 * too low for the clients and their latency. Least squares over the rows; Infinity if no requests
 * are missing.
 */
export function computeWindowNs(
  rows: readonly {
    readonly concurrency: number;
    readonly samplesPerRequest: number;
    readonly inferPerSecond: number;
    readonly latencyMs: { readonly mean: number };
  }[],
): number {
  let missed = 0;
  let squares = 0;
  for (const { concurrency, samplesPerRequest, inferPerSecond, latencyMs } of rows) {
    const latencyNs = latencyMs.mean * NS_PER_MS;
    const inFlight = ((inferPerSecond / samplesPerRequest) * latencyNs) / NS_PER_S;
    missed += (1 - inFlight / concurrency) * latencyNs;
    squares += latencyNs ** 2;
  }
  return missed > 0 ? squares / missed : Number.POSITIVE_INFINITY;
}
