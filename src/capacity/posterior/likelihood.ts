import { MS_PER_S } from '#base/units.ts';
import { chanceBelow } from '#stats/normal.ts';
import type { RateReading } from '../reading.ts';
import { type BacklogsMet, playBacklog } from './backlog.ts';
import { expectedShare } from './expected-share.ts';
import type { CapacityPrior } from './prior.ts';
import { STEADY_ERRORS, shapesAt, type WeightedShape } from './shapes.ts';

/**
 * Bad requests come in clusters. Factors on the readings' own estimate of their variance, relative
 * to that of independent requests.
 */
const CLUSTERS = [
  { cluster: 0.5, logPrior: -1.5 },
  { cluster: 1, logPrior: -1 },
  { cluster: 2.5, logPrior: -1.5 },
] as const;
/**
 * The same for a workload. The luck of its arrivals makes a reading look like one at another rate,
 * so most of the variance is in `WORKLOAD_SCATTERS`. Both chosen on 24 simulated workloads
 * (docs/benchmarks/traffic.md).
 */
const WORKLOAD_CLUSTERS = [{ cluster: 10, logPrior: 0 }] as const;
/**
 * A workload's curve is right near the capacity only: the uncertainty of its rate, as a part of the
 * distance from the capacity, both as logarithms.
 */
const MISFIT = 0.3;
/**
 * The variance factor before any reading (simulated queues near saturation: 5 to 40), and its
 * weight in bad requests.
 */
const USUAL_CLUSTER = 20;
const USUAL_WEIGHT = 30;
/**
 * Batches of readings say something about the clusters up to this multiple of the allowed share; in
 * an overload all requests are bad.
 */
const NEAR_ALLOWED = 15;
/**
 * Candidate scatters, from reading to reading, of the rate that the server can serve, as
 * logarithms.
 */
const RATE_SCATTERS = [0.002, 0.007, 0.03] as const;
const WORKLOAD_SCATTERS = [0.02, 0.04, 0.08] as const;
/** The index of the usual one; the log prior falls by `SCATTER_PRIOR` per step from it. */
const USUAL_SCATTER = 1;
const SCATTER_PRIOR = 0.5;
/**
 * A stall of the machine causes any number of bad requests with this chance. Nothing causes too
 * few, up to this weight in squared deviations.
 */
const LOG_STALL = Math.log(0.001);
const MAX_BELOW = 50;
/**
 * The chance that a server fell behind because it was held up, which says nothing about its
 * capacity.
 */
const HELD_UP = 0.02;
/** By about this share, a server may serve more at another moment than was seen. */
const SERVED_SD = 0.03;
/** Scatter of the host's own work, as a logarithm (see study/speed). */
const HOST_SD = 0.03;
/**
 * The maximum ratio between a change in the share of bad requests and the change in rate that
 * causes it, both as logarithms.
 */
const MAX_STEEPNESS = 30;
/** Prior log odds that a server on this host's CPU is as fast as the host. */
const HOST_LOG_ODDS = 2;

/** A reading, and what follows from it alone. */
export interface Clustered {
  readonly reading: RateReading;
  /** The variance of the bad requests relative to that of independent ones, from all readings. */
  readonly cluster: number;
  /**
   * The backlogs of a steady server, by the index of the saturation's error: at the usual speed,
   * and at the host's. Empty if unknown.
   */
  readonly backlogs: readonly BacklogsMet[];
  readonly hostBacklogs: readonly BacklogsMet[];
}

/** Returns the readings with what follows from each of them alone. */
export function clustered(readings: readonly RateReading[], prior: CapacityPrior): readonly Clustered[] {
  const cluster = computeCluster(readings, prior.allowed);
  return readings.map((reading) => ({
    reading,
    cluster,
    backlogs: listBacklogs(reading, prior, 0),
    hostBacklogs: prior.followsHost ? listBacklogs(reading, prior, reading.logSpeed ?? 0) : [],
  }));
}

function listBacklogs(
  { arrivals }: RateReading,
  { mostServed, idle, budgetSeconds }: CapacityPrior,
  logSpeed: number,
): readonly BacklogsMet[] {
  if (arrivals === null || mostServed === null || idle === null || budgetSeconds === null) return [];
  const idleMs = idle * budgetSeconds * MS_PER_S * Math.exp(-logSpeed);
  return STEADY_ERRORS.map((error) =>
    playBacklog(arrivals, { perSecond: mostServed * Math.exp(error + logSpeed), idleMs }),
  );
}

interface PointLikelihood {
  readonly logLikelihood: number;
  /** The expected gap at this point. */
  readonly gap: number;
}

/**
 * Returns the likelihood of the readings if the capacity's logarithm is `log`, over all shapes,
 * scatters and hosts.
 */
export function likelihoodAt(log: number, readings: readonly Clustered[], prior: CapacityPrior): PointLikelihood {
  const { followsHost, allowed, budgetSeconds } = prior;
  const knowsSpeed = followsHost && readings.some(({ reading }) => reading.logSpeed !== null);
  const along = knowsSpeed ? Math.log(1 / (1 + Math.exp(-HOST_LOG_ODDS))) : 0;
  const shapes = shapesAt(
    log,
    prior,
    readings.every(({ backlogs }) => backlogs.length > 0),
  );
  const parts: number[] = [];
  const gaps: { readonly gap: number; readonly to: number }[] = [];
  for (const follows of knowsSpeed ? [true, false] : [false]) {
    const logOdds = follows || !knowsSpeed ? along : along - HOST_LOG_ODDS;
    const fixed = readings.reduce((sum, { reading }) => sum + overloadLikelihood(log, reading, follows), logOdds);
    for (const shape of shapes) {
      shapeLikelihoods(parts, fixed + shape.logPrior, readings, { ...shape, log, follows, allowed, budgetSeconds });
      gaps.push({ gap: shape.gap, to: parts.length });
    }
  }
  return meanOver(parts, gaps);
}

/** A server that falls behind serves all it can, which is at least its capacity. */
function overloadLikelihood(log: number, reading: RateReading, follows: boolean): number {
  const { perSecond, served, isUnsustained, logSpeed } = reading;
  if (!isUnsustained || served.mean <= 0) return 0;
  const speed = follows ? (logSpeed ?? 0) : 0;
  const chance = chanceBelow((Math.log(perSecond * served.mean) - speed - log) / Math.hypot(SERVED_SD, served.sd));
  return Math.log(HELD_UP + (1 - HELD_UP) * chance);
}

interface Shape extends Omit<WeightedShape, 'logPrior'> {
  readonly log: number;
  readonly follows: boolean;
  /** The share of requests that may be bad. */
  readonly allowed: number;
  readonly budgetSeconds: number | null;
}

/** Adds the log likelihood under one shape, for each pair of scatters. */
function shapeLikelihoods(parts: number[], fixed: number, readings: readonly Clustered[], shape: Shape): void {
  const expected = readings.map((reading) => expectedAt(reading, shape));
  const rateScatters = shape.slope === null ? RATE_SCATTERS : WORKLOAD_SCATTERS;
  for (const { cluster, logPrior } of listClusters(shape)) {
    for (const [step, rateScatter] of rateScatters.entries()) {
      let sum = fixed + logPrior - SCATTER_PRIOR * Math.abs(step - USUAL_SCATTER);
      for (const { deviance, unit, variance, shift, logStall, misfit } of expected) {
        // A multiple of the variance of independent requests.
        const times = variance * cluster + shift * (rateScatter * rateScatter + misfit * misfit);
        const usual = -(Math.min(deviance / times, MAX_BELOW) + Math.log(times * unit + 1)) / 2;
        sum += Math.max(usual, logStall);
      }
      parts.push(sum);
    }
  }
}

/** Returns the candidate factors on the variance, with their log priors. */
function listClusters({ steady, slope }: Shape): readonly { readonly cluster: number; readonly logPrior: number }[] {
  if (steady !== null) return [{ cluster: steady.cluster, logPrior: 0 }];
  return slope === null ? CLUSTERS : WORKLOAD_CLUSTERS;
}

/** A server with no spare capacity has visits as long as a measurement. */
const MIN_SPARE = 1e-3;

interface Expected {
  /** The deviance of the binomial distribution. */
  readonly deviance: number;
  /** The variance of the seen number if requests are independent. */
  readonly unit: number;
  /** The log likelihood if a stall caused the bad requests. */
  readonly logStall: number;
  /** The variance, relative to that of independent requests. */
  readonly variance: number;
  /** The scatter of the rate that stands for what the shape does not know, as a logarithm. */
  readonly misfit: number;
  /**
   * The variance that a scatter of the rate adds, for a standard deviation of 1 of the rate's
   * logarithm.
   */
  readonly shift: number;
}

function expectedAt(clustered: Clustered, shape: Shape): Expected {
  const { log, gap, follows, allowed } = shape;
  const { reading } = clustered;
  const { perSecond, requests, bad, logSpeed } = reading;
  // A host twice as fast serves twice the rate, and all times are half as long.
  const speed = follows ? (logSpeed ?? 0) : 0;
  const share = Math.exp(Math.log(perSecond) - speed - log);
  const left = 1 + gap - share;
  const backlogs = follows ? clustered.hostBacklogs : clustered.backlogs;
  const { expected, steepness } = expectedShare(shape, allowed, share, { backlogs, logSpeed: speed });
  const sum = (logRate: number): number => (requests * expected * logRate * logRate) / (1 - expected);
  return {
    deviance: computeDeviance(bad.mean, expected, requests),
    unit: requests * bad.mean * (1 - bad.mean),
    logStall: bad.mean > expected ? LOG_STALL - Math.log(requests * bad.mean + 1) : Number.NEGATIVE_INFINITY,
    variance: computeVariance(clustered, shape, expected, left / (1 + gap)),
    misfit: shape.slope === null ? 0 : MISFIT * Math.abs(Math.log(share)),
    shift: sum(Math.min(steepness, MAX_STEEPNESS)) + (speed === 0 ? 0 : sum(HOST_SD * (1 + steepness))),
  };
}

/** Returns the variance of the count of bad requests, relative to that of independent ones. */
function computeVariance({ reading, cluster }: Clustered, shape: Shape, expected: number, spare: number): number {
  const { slope, allowed, budgetSeconds } = shape;
  if (slope !== null) return 1;
  return budgetSeconds === null ? cluster : clusterAt(reading, expected, spare, allowed, budgetSeconds);
}

/**
 * Returns the ratio between the variance of the count of bad requests and that of independent ones.
 * The model is a queue as a Brownian motion with the drift −d, where d is the share of time that
 * the server has to spare. Once over the budget B, it stays there for 2B/d ln(1/a) seconds of
 * requests. Such visits last exponentially long, which doubles the variance. The actual arrival
 * rate explains p ln² p of that.
 */
function clusterAt(
  { perSecond, requests }: RateReading,
  expected: number,
  spare: number,
  allowed: number,
  budgetSeconds: number,
): number {
  const visit = (2 * budgetSeconds * perSecond) / (-Math.log(allowed) * Math.max(Math.abs(spare), MIN_SPARE));
  const logShare = Math.log(Math.min(expected, Math.exp(-2)));
  return Math.max(1, Math.min(visit, requests) * (1 - Math.exp(logShare) * logShare * logShare));
}

/** Returns twice the log likelihood ratio of a seen share and an expected one. */
function computeDeviance(seen: number, expected: number, requests: number): number {
  const part = (share: number, of: number): number => (share > 0 ? share * Math.log(share / of) : 0);
  return 2 * requests * (part(seen, expected) + part(1 - seen, 1 - expected));
}

/**
 * Returns the variance of bad requests relative to independent ones, from the batches of all
 * readings. Each batch is weighted by its bad requests.
 */
function computeCluster(readings: readonly RateReading[], allowed: number): number {
  let [weights, sum] = [USUAL_WEIGHT, USUAL_WEIGHT * USUAL_CLUSTER];
  for (const { bad, requests } of readings) {
    const weight = requests * bad.mean;
    if (!(weight > 1) || bad.mean > Math.min(NEAR_ALLOWED * allowed, 0.5)) continue;
    weights += weight;
    sum += weight * ((bad.sd * bad.sd * requests) / (bad.mean * (1 - bad.mean)));
  }
  return Math.max(1, sum / weights);
}

/**
 * Returns the sum of log likelihoods, and the mean gap by their weights. Each gap applies to the
 * parts from its predecessor's `to` up to its own.
 */
function meanOver(
  parts: readonly number[],
  gaps: readonly { readonly gap: number; readonly to: number }[],
): PointLikelihood {
  let most = Number.NEGATIVE_INFINITY;
  for (const part of parts) most = Math.max(most, part);
  let [sum, ofGaps, at] = [0, 0, 0];
  for (const { gap, to } of gaps) {
    let logLikelihood = 0;
    for (; at < to; at++) logLikelihood += Math.exp((parts[at] as number) - most);
    sum += logLikelihood;
    ofGaps += logLikelihood * gap;
  }
  return { logLikelihood: most + Math.log(sum), gap: ofGaps / sum };
}
