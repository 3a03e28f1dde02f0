import type { Interval } from '../stats/interval.ts';
import { chanceBelow } from '../stats/normal.ts';
import type { RateReading } from './reading.ts';

/** What is known about the capacity before any measurement. */
export interface CapacityPrior {
  /** Requests per second that are certainly below and above the capacity. */
  readonly low: number;
  readonly high: number;
  /** The share of requests that may be bad. */
  readonly allowed: number;
  /** The latency budget; null for limits of another kind. */
  readonly budgetSeconds: number | null;
  /** A first guess, which may be far off; null for none. */
  readonly likely: number | null;
  /** The scale of the guess, as a logarithm: half of all capacities are within about this distance. A quarter if absent. */
  readonly guessScale?: number;
  /** The highest throughput seen, which no capacity can exceed by much; null if none was seen. */
  readonly mostServed: number | null;
  /** The approximate percentile of an idle server, divided by the budget; null if unknown. */
  readonly idle: number | null;
  /** True if the server computes on this host's CPU and so follows the host's speed. The host's speed says nothing about any other server. */
  readonly followsHost: boolean;
}

/** The distribution of the capacity, given the readings. */
export interface CapacityPosterior {
  /** Returns the chance that the server keeps the budget at this rate. */
  chance(perSecond: number): number;
  /** Returns the rate that exceeds the capacity with this chance. */
  quantile(chance: number): number;
  /** Returns the rate at which this share of requests should be bad, as a multiple of the capacity. */
  timesForShare(share: number): number;
  /** The median with the 95 % interval. */
  readonly interval: Interval;
}

/**
 * The candidate shapes of latency over rate: L(λ) = F + (B − F) · g / (1 + g − λ/c). This is the law of a queue with the capacity c, at which the
 * percentile L equals the budget B, the saturation rate c(1 + g) and the percentile F of an idle server. With an exponential tail, a share a^(B/L)
 * of the requests is then over the budget, where a is the share of requests above the percentile.
 */
const GAPS = [0.005, 0.013, 0.033, 0.08, 0.2, 0.5, 1.3, 3.5] as const;
const FLOORS = [0.1, 0.5, 0.9] as const;
const ALL_SHAPES = Math.log(GAPS.length * FLOORS.length);
/** Batches raise an idle server's latency before it queues. The log prior falls by this much for each budget that F lies above it. */
const FLOOR_PRIOR = 6;
/** Bad requests come in clusters. Factors on the readings' own estimate of their variance, relative to that of independent requests. */
const CLUSTERS = [0.5, 1, 2.5] as const;
/** The variance factor before any reading (simulated queues near saturation: 5 to 40), and its weight in bad requests. */
const USUAL_CLUSTER = 20;
const USUAL_WEIGHT = 30;
/** Batches of readings say something about the clusters up to this multiple of the allowed share; in an overload all requests are bad. */
const NEAR_ALLOWED = 15;
/** Candidate scatters, from reading to reading, of the rate that the server can serve, as logarithms. */
const RATE_SCATTERS = [0.002, 0.007, 0.03] as const;
/** The index of the usual value of both; the log prior falls by `SCATTER_PRIOR` per step from it. */
const USUAL_SCATTER = 1;
const SCATTER_PRIOR = 0.5;
/** Limits of the expected share of bad requests: no shape is right far from the capacity. */
const LEAST_BAD = 1e-7;
const MOST_BAD = 0.9;
/**
 * The maximum weight of an excess of bad requests, in squared deviations: a stall of the machine can cause one at any rate. Nothing causes too few.
 */
const MOST_ABOVE = 9;
const MOST_BELOW = 50;
/** The chance that a server fell behind because it was held up, which says nothing about its capacity. */
const HELD_UP = 0.02;
/** By about this share, a server may serve more at another moment than was seen. */
const SERVED_SD = 0.03;
const SATURATION_SD = 0.12;
/**
 * If closed loops reached the saturation S, the law with F = 0 is a^((S − λ)/(S − c)). Fourteen queues with one to eight servers, single requests
 * and batches, and services with a cv of 0 to 2 had shares of 0.2 to 18 % within a factor of 1.3 of it (docs/capacity.md). The constants are the
 * error of the seen S, as a logarithm, and the chance that a server follows another law.
 */
const SEEN_SD = 0.012;
const SATURATION_ERRORS = [-0.03, -0.018, -0.009, 0, 0.009, 0.018, 0.03] as const;
const ALL_ERRORS = Math.log(
  SATURATION_ERRORS.reduce<number>((sum, error) => sum + Math.exp(-((error / SEEN_SD) ** 2) / 2), 0),
);
const UNUSUAL = 0.05;
/** The scale of a first guess, as a logarithm: half of all capacities are within about this distance. */
const GUESS_SCALE = 0.25;
/** Scatter of the host's own work, as a logarithm (see study/speed). */
const HOST_SD = 0.03;
/** The maximum ratio between a change in the share of bad requests and the change in rate that causes it, both as logarithms. */
const MOST_STEEPNESS = 30;
/** Prior log odds that a server on this host's CPU is as fast as the host. */
const HOST_LOG_ODDS = 2;
/** Points of each grid over the logarithm of the capacity, nested grids, and the mass that the next one leaves out on each side. */
const POINTS = 41;
const GRIDS = 3;
const LEFT_OUT = 1e-3;

/**
 * Returns the posterior of the capacity: a Bayesian threshold estimate as QUEST makes of psychometric functions (Watson and Pelli, 1983), with
 * shares of bad requests instead of yes and no. Their likelihood is the extended quasi-likelihood of clustered counts (Nelder and Pregibon, 1987).
 * It sums over shapes and scatters on a grid. Without readings, it equals the prior.
 */
export function capacityPosterior(all: readonly RateReading[], prior: CapacityPrior): CapacityPosterior {
  const cluster = clusterOf(all, prior.allowed);
  const readings = all.map((reading) => ({ reading, cluster }));
  let [low, high] = [Math.log(prior.low), Math.log(prior.high)];
  let grid = gridOver(low, high, readings, prior);
  for (let finer = 1; finer < GRIDS; finer++) {
    const { quantile } = posteriorOn(grid);
    const step = (high - low) / (POINTS - 1);
    low = Math.max(low, Math.log(quantile(LEFT_OUT)) - step);
    high = Math.min(high, Math.log(quantile(1 - LEFT_OUT)) + step);
    grid = gridOver(low, high, readings, prior);
  }
  return posteriorOn(grid);
}

/**
 * The error of the model on simulated queues beyond its own uncertainty, as a standard deviation of the capacity's logarithm: near saturation a
 * queue needs longer than a measurement to fill.
 */
const MODEL_SD = 0.008;
/** The range beyond the grid in which quantiles are searched, in deviations, and the number of halvings. */
const ENDS = 4;
const HALVINGS = 30;

interface Grid {
  readonly logs: readonly number[];
  /** The weights, which add up to 1. */
  readonly weights: readonly number[];
  /** The expected gap: how far saturation lies above the capacity, as a share of it. */
  readonly gap: number;
  readonly allowed: number;
}

function gridOver(low: number, high: number, readings: readonly Clustered[], prior: CapacityPrior): Grid {
  const logs = Array.from({ length: POINTS }, (_, at) => low + ((high - low) * at) / (POINTS - 1));
  const points = logs.map((log) => ({ prior: logPriorAt(log, prior), ...likelihoodAt(log, readings, prior) }));
  const likelihoods = points.map((point) => point.prior + point.logLikelihood);
  const most = Math.max(...likelihoods);
  const raw = likelihoods.map((each) => Math.exp(each - most));
  const sum = raw.reduce((total, weight) => total + weight, 0);
  const weights = raw.map((weight) => weight / sum);
  const gap = points.reduce((total, point, at) => total + (weights[at] as number) * point.gap, 0);
  return { logs, weights, gap, allowed: prior.allowed };
}

function logPriorAt(log: number, { likely, guessScale = GUESS_SCALE }: CapacityPrior): number {
  // Cauchy: readings soon outweigh a wrong guess.
  const guess = likely === null ? 0 : -Math.log(1 + ((log - Math.log(likely)) / guessScale) ** 2);
  return guess;
}

/** Returns the log chance that a figure known to `sd` is above `log`, with a floor so that readings can outweigh it. */
const logChanceAbove = (log: number, mean: number, sd: number): number =>
  Math.log(1e-9 + chanceBelow((mean - log) / sd));

interface PointLikelihood {
  readonly logLikelihood: number;
  /** The expected gap at this point. */
  readonly gap: number;
}

/** Returns the likelihood of the readings if the capacity's logarithm is `log`, over all shapes, scatters and hosts. */
function likelihoodAt(log: number, readings: readonly Clustered[], prior: CapacityPrior): PointLikelihood {
  const { followsHost, allowed, budgetSeconds } = prior;
  const knowsSpeed = followsHost && readings.some(({ reading }) => reading.logSpeed !== null);
  const along = knowsSpeed ? Math.log(1 / (1 + Math.exp(-HOST_LOG_ODDS))) : 0;
  const shapes = shapesAt(log, prior);
  const parts: number[] = [];
  const gaps: { readonly gap: number; readonly to: number }[] = [];
  for (const follows of knowsSpeed ? [true, false] : [false]) {
    const logOdds = follows || !knowsSpeed ? along : along - HOST_LOG_ODDS;
    const fixed = readings.reduce((sum, { reading }) => sum + overloadLikelihood(log, reading, follows), logOdds);
    for (const { gap, floor, logPrior } of shapes) {
      shapeLikelihoods(parts, fixed + logPrior, readings, { log, gap, floor, follows, allowed, budgetSeconds });
      gaps.push({ gap, to: parts.length });
    }
  }
  return meanOver(parts, gaps);
}

interface WeightedShape {
  readonly gap: number;
  readonly floor: number;
  readonly logPrior: number;
}

/** Returns the possible shapes at a capacity: all of them, or those that agree with the saturation, if it was seen. */
function shapesAt(log: number, { mostServed, idle }: CapacityPrior): readonly WeightedShape[] {
  const any = GAPS.flatMap((gap) => {
    const saturation = log + Math.log(1 + gap);
    const atMost = mostServed === null ? 0 : logChanceAbove(saturation, Math.log(mostServed), SATURATION_SD);
    const unlikely = mostServed === null ? 0 : Math.log(UNUSUAL);
    return FLOORS.map((floor): WeightedShape => {
      const above = idle === null ? 0 : Math.max(0, floor - Math.max(idle, FLOORS[0]));
      return { gap, floor, logPrior: unlikely + atMost - FLOOR_PRIOR * above - ALL_SHAPES };
    });
  });
  if (mostServed === null) return any;
  const usual = SATURATION_ERRORS.flatMap((error): WeightedShape[] => {
    const gap = Math.exp(Math.log(mostServed) + error - log) - 1;
    if (gap < GAPS[0]) return [];
    return [{ gap, floor: 0, logPrior: -((error / SEEN_SD) ** 2) / 2 - ALL_ERRORS }];
  });
  return [...any, ...usual];
}

/** A server that falls behind serves all it can, which is at least its capacity. */
function overloadLikelihood(log: number, reading: RateReading, follows: boolean): number {
  const { perSecond, served, isUnsustained, logSpeed } = reading;
  if (!isUnsustained || served.mean <= 0) return 0;
  const speed = follows ? (logSpeed ?? 0) : 0;
  const chance = chanceBelow((Math.log(perSecond * served.mean) - speed - log) / Math.hypot(SERVED_SD, served.sd));
  return Math.log(HELD_UP + (1 - HELD_UP) * chance);
}

interface Shape {
  readonly log: number;
  readonly gap: number;
  readonly floor: number;
  readonly follows: boolean;
  /** The share of requests that may be bad. */
  readonly allowed: number;
  readonly budgetSeconds: number | null;
}

/** Adds the log likelihood under one shape, for each pair of scatters. */
function shapeLikelihoods(parts: number[], fixed: number, readings: readonly Clustered[], shape: Shape): void {
  const expected = readings.map((reading) => expectedAt(reading, shape));
  for (const [i, cluster] of CLUSTERS.entries()) {
    for (const [j, rateScatter] of RATE_SCATTERS.entries()) {
      let sum = fixed - SCATTER_PRIOR * (Math.abs(i - USUAL_SCATTER) + Math.abs(j - USUAL_SCATTER));
      let product = 1;
      for (const { deviance, most, variance, shift } of expected) {
        // A multiple of the variance of independent requests.
        const times = variance * cluster + shift * rateScatter * rateScatter;
        sum -= Math.min(deviance / times, most) / 2;
        product *= times;
        if (product > LARGE) {
          sum -= Math.log(product) / 2;
          product = 1;
        }
      }
      parts.push(sum - Math.log(product) / 2);
    }
  }
}

/** One logarithm of a product costs less than one of each factor, until the product exceeds this. */
const LARGE = 1e200;
/** A server with no spare capacity has visits as long as a measurement. */
const LEAST_SPARE = 1e-3;

interface Expected {
  /** The deviance of the binomial distribution. */
  readonly deviance: number;
  /** The maximum weight, in squared deviations. */
  readonly most: number;
  /** The variance, relative to that of independent requests. */
  readonly variance: number;
  /** The variance that a scatter of the rate adds, for a standard deviation of 1 of the rate's logarithm. */
  readonly shift: number;
}

function expectedAt({ reading, cluster }: Clustered, shape: Shape): Expected {
  const { log, gap, floor, follows, allowed, budgetSeconds } = shape;
  const { perSecond, requests, bad, logSpeed } = reading;
  // A host twice as fast serves twice the rate, and all times are half as long.
  const speed = follows ? (logSpeed ?? 0) : 0;
  const share = Math.exp(Math.log(perSecond) - speed - log);
  const left = 1 + gap - share;
  const ratio = left > 0 ? (floor + ((1 - floor) * gap) / left) * Math.exp(-speed) : Number.POSITIVE_INFINITY;
  const tail = Math.log(allowed) / ratio;
  const expected = Math.min(Math.max(Math.exp(tail), LEAST_BAD), MOST_BAD);
  const steepness = left > 0 ? (-tail * (1 - floor) * gap * share * Math.exp(-speed)) / (left * left * ratio) : 0;
  const sum = (logRate: number): number => (requests * expected * logRate * logRate) / (1 - expected);
  return {
    deviance: devianceOf(bad.mean, expected, requests),
    most: bad.mean > expected ? MOST_ABOVE : MOST_BELOW,
    variance: budgetSeconds === null ? cluster : clusterAt(reading, expected, left / (1 + gap), allowed, budgetSeconds),
    shift: sum(Math.min(steepness, MOST_STEEPNESS)) + (speed === 0 ? 0 : sum(HOST_SD * (1 + steepness))),
  };
}

/**
 * Returns the ratio between the variance of the count of bad requests and that of independent ones. The model is a queue as a Brownian motion with
 * the drift −d, where d is the share of time that the server has to spare. Once over the budget B, it stays there for 2B/d ln(1/a) seconds of
 * requests. Such visits last exponentially long, which doubles the variance. The actual arrival rate explains p ln² p of that.
 */
function clusterAt(
  { perSecond, requests }: RateReading,
  expected: number,
  spare: number,
  allowed: number,
  budgetSeconds: number,
): number {
  const visit = (2 * budgetSeconds * perSecond) / (-Math.log(allowed) * Math.max(Math.abs(spare), LEAST_SPARE));
  const logShare = Math.log(Math.min(expected, Math.exp(-2)));
  return Math.max(1, Math.min(visit, requests) * (1 - Math.exp(logShare) * logShare * logShare));
}

/** Returns twice the log likelihood ratio of a seen share and an expected one. */
function devianceOf(seen: number, expected: number, requests: number): number {
  const part = (share: number, of: number): number => (share > 0 ? share * Math.log(share / of) : 0);
  return 2 * requests * (part(seen, expected) + part(1 - seen, 1 - expected));
}

interface Clustered {
  readonly reading: RateReading;
  /** The variance of the bad requests relative to that of independent ones, from all readings. */
  readonly cluster: number;
}

/**
 * Returns the variance of bad requests relative to independent ones, from the batches of all readings. Each batch is weighted by its bad requests.
 */
function clusterOf(readings: readonly RateReading[], allowed: number): number {
  let [weights, sum] = [USUAL_WEIGHT, USUAL_WEIGHT * USUAL_CLUSTER];
  for (const { bad, requests } of readings) {
    const weight = requests * bad.mean;
    if (!(weight > 1) || bad.mean > Math.min(NEAR_ALLOWED * allowed, 0.5)) continue;
    weights += weight;
    sum += weight * ((bad.sd * bad.sd * requests) / (bad.mean * (1 - bad.mean)));
  }
  return Math.max(1, sum / weights);
}

/** Returns the sum of log likelihoods, and the mean gap by their weights. Each gap applies to the parts from its predecessor's `to` up to its own. */
function meanOver(
  parts: readonly number[],
  gaps: readonly { readonly gap: number; readonly to: number }[],
): PointLikelihood {
  let most = Number.NEGATIVE_INFINITY;
  for (const part of parts) most = Math.max(most, part);
  let [sum, ofGaps, at] = [0, 0, 0];
  for (const { gap, to } of gaps) {
    let own = 0;
    for (; at < to; at++) own += Math.exp((parts[at] as number) - most);
    sum += own;
    ofGaps += own * gap;
  }
  return { logLikelihood: most + Math.log(sum), gap: ofGaps / sum };
}

function posteriorOn({ logs, weights, gap, allowed }: Grid): CapacityPosterior {
  const step = (logs[1] as number) - (logs[0] as number);
  const sd = Math.max(MODEL_SD, step / 2);
  const chanceAt = (log: number): number =>
    logs.reduce((sum, at, index) => sum + (weights[index] as number) * chanceBelow((at - log) / sd), 0);
  const quantile = (chance: number): number => {
    let [low, high] = [(logs[0] as number) - ENDS * sd, (logs.at(-1) as number) + ENDS * sd];
    for (let halving = 0; halving < HALVINGS; halving++) {
      const middle = (low + high) / 2;
      if (1 - chanceAt(middle) < chance) low = middle;
      else high = middle;
    }
    return Math.exp((low + high) / 2);
  };
  return {
    chance: (perSecond) => chanceAt(Math.log(perSecond)),
    quantile,
    // If the share is p, L/B is ln a / ln p; solved for λ/c with F = 0.
    timesForShare: (share) => 1 + gap * (1 - Math.log(share) / Math.log(allowed)),
    interval: { value: quantile(0.5), low: quantile(0.025), high: quantile(0.975) },
  };
}
