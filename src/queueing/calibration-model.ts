import { NS_PER_MS, NS_PER_S, nsToMs } from '../base/units.ts';
import type { BatcherPolicy } from './batcher-policy.ts';
import type { AloneRow } from './calibration-row.ts';
import { affineLaw, executionNs, type LawPoint, type ServiceLaw } from './service-law.ts';
import { simulate } from './simulate.ts';

/** What is unknown of a server whose executions were timed alone. */
export type Unknowns = {
  /** Executions that run at once. */
  readonly atOnce: number;
  /** Between two batch sizes that were timed: 0 a straight line, 1 the time of the larger from the first sample on. */
  readonly stepShare: number;
  /** How much each further execution at the same time lengthens one: 1 by its whole time alone. */
  readonly perInstance: number;
  /** What one more sample costs beyond the sizes that were timed, as a share of the mean cost of a sample there. */
  readonly perSampleShare: number;
  /** Time on each request, one after the other, before it is queued. */
  readonly frontEndMs: number;
  /** Executions under traffic over executions alone. */
  readonly scale: number;
};

/** A server and its clients, known well enough to foretell a row of a table. */
export type CalibratedServer = {
  readonly policy: BatcherPolicy;
  readonly law: ServiceLaw;
  readonly roundTripNs: number;
  readonly jitterNs: number;
  /** Measurement windows that leave out requests under way at their edges: so long; Infinity when all were counted. */
  readonly windowNs: number;
};

/** Of a closed loop at one concurrency; means per request, as a row has them. */
export type ForetoldRow = {
  readonly inferPerSecond: number;
  readonly p50Ms: number;
  readonly p99Ms: number;
  readonly queueMs: number;
  readonly computeMs: number;
  readonly outsideMs: number;
};

const SPREAD = 0.03;
/** Clients seldom begin all at once, and how their requests fall into batches lasts: several beginnings stand for all. */
const BEGINNINGS = 4;
const RAMP_EXECUTIONS = 12;
const CYCLES_OF_WARM_UP = 9;
const CYCLES = 6;
const LEAST_REQUESTS = 300;
/** Latencies near a window's length are beyond what is modelled. */
const LEAST_COUNTED = 0.2;

/** The service law behind the executions that were timed alone and the given unknowns. */
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

/** The point, and one more sample after it, where the given share of the way to the next point is taken at once. */
function withStep(point: LawPoint, next: LawPoint | undefined, share: number): LawPoint[] {
  const between = next ? next.batchSize - point.batchSize : 0;
  if (!next || between < 2 || share === 0) return [point];
  const rise = (share + (1 - share) / between) * (next.executionNs - point.executionNs);
  return [point, { batchSize: point.batchSize + 1, executionNs: point.executionNs + rise }];
}

/** What the table would hold for so many clients: the mean over several ways in which they may begin. */
export function foretellRow(server: CalibratedServer, concurrency: number, samplesPerRequest: number): ForetoldRow {
  const { policy, law, roundTripNs, jitterNs, windowNs } = server;
  const inFlight = Math.min(Math.max(1, policy.maxBatchSize), concurrency * samplesPerRequest);
  const rampNs = RAMP_EXECUTIONS * executionNs(law, inFlight, 1);
  const traffic = { kind: 'closed', concurrency, samplesPerRequest, roundTripNs, jitterNs, rampNs } as const;
  const sum = { inferPerSecond: 0, p50Ms: 0, p99Ms: 0, queueMs: 0, computeMs: 0, outsideMs: 0 };
  for (let seed = 1; seed <= BEGINNINGS; seed++) {
    const requests = Math.max(LEAST_REQUESTS, CYCLES * concurrency);
    const run = simulate(policy, law, traffic, { warmUpRequests: CYCLES_OF_WARM_UP * concurrency, requests, seed });
    const counted = Math.max(LEAST_COUNTED, 1 - run.latencyNs.mean / windowNs);
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
 * A client whose windows count only requests that begin and end within them misses the mean latency's share of each window.
 * Little's law tells it: fewer are counted than so many clients with that latency must have had. Least squares over the
 * rows; Infinity where nothing is missing.
 */
export function windowNsOf(
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
