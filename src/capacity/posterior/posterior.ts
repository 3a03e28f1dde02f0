import type { Interval } from '#stats/interval.ts';
import { computeWeights } from '#stats/log-weights.ts';
import { chanceBelow } from '#stats/normal.ts';
import type { RateReading } from '../reading.ts';
import { type Clustered, clustered, likelihoodAt } from './likelihood.ts';
import type { CapacityPrior } from './prior.ts';

/** The distribution of the capacity, given the readings. */
export interface CapacityPosterior {
  /** Returns the chance that the server keeps the budget at this rate. */
  chance(perSecond: number): number;
  /** Returns the rate that exceeds the capacity with this chance. */
  quantile(chance: number): number;
  /**
   * Returns the rate at which this share of requests should be bad, as a multiple of the capacity.
   */
  timesForShare(share: number): number;
  /** The median with the 95 % interval. */
  readonly interval: Interval;
}

/**
 * The scale of a first guess, as a logarithm: half of all capacities are within about this
 * distance.
 */
const GUESS_SCALE = 0.25;
/**
 * Points of each grid over the logarithm of the capacity, nested grids, and the mass that the next
 * one leaves out on each side.
 */
const POINTS = 41;
const GRIDS = 3;
const LEFT_OUT = 1e-3;

/**
 * Returns the posterior of the capacity: a Bayesian threshold estimate as QUEST makes of
 * psychometric functions (Watson and Pelli, 1983), with shares of bad requests instead of yes and
 * no. Their likelihood is the extended quasi-likelihood of clustered counts (Nelder and Pregibon,
 * 1987). It sums over shapes and scatters on a grid. Without readings, it equals the prior.
 */
export function capacityPosterior(all: readonly RateReading[], prior: CapacityPrior): CapacityPosterior {
  const readings = clustered(all, prior);
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
 * The error of the model on simulated queues beyond its own uncertainty, as a standard deviation of
 * the capacity's logarithm: near saturation a queue needs longer than a measurement to fill.
 */
const MODEL_SD = 0.008;
/** The same for workloads: phases and classes with capacities of their own bend the curve. */
const WORKLOAD_SD = 0.012;
/**
 * The range beyond the grid in which quantiles are searched, in deviations, and the number of
 * halvings.
 */
const ENDS = 4;
const HALVINGS = 30;

interface Grid {
  readonly logs: readonly number[];
  /** The weights, which add up to 1. */
  readonly weights: readonly number[];
  /** The expected gap: how far saturation lies above the capacity, as a share of it. */
  readonly gap: number;
  readonly allowed: number;
  /** The error of the model, as a standard deviation. */
  readonly modelSd: number;
}

function gridOver(low: number, high: number, readings: readonly Clustered[], prior: CapacityPrior): Grid {
  const logs = Array.from({ length: POINTS }, (_, at) => low + ((high - low) * at) / (POINTS - 1));
  const points = logs.map((log) => ({ prior: logPriorAt(log, prior), ...likelihoodAt(log, readings, prior) }));
  const weights = computeWeights(points.map((point) => point.prior + point.logLikelihood));
  const gap = points.reduce((total, point, at) => total + (weights[at] as number) * point.gap, 0);
  const modelSd = prior.isWorkload ? WORKLOAD_SD : MODEL_SD;
  return { logs, weights, gap, allowed: prior.allowed, modelSd };
}

/** Returns the log prior of a capacity, given its logarithm. */
export function logPriorAt(log: number, { likely, guessScale = GUESS_SCALE }: CapacityPrior): number {
  // Cauchy: readings soon outweigh a wrong guess.
  const guess = likely === null ? 0 : -Math.log(1 + ((log - Math.log(likely)) / guessScale) ** 2);
  return guess;
}

/** Returns the posterior on a grid. */
export function posteriorOn({ logs, weights, gap, allowed, modelSd }: Grid): CapacityPosterior {
  const step = (logs[1] as number) - (logs[0] as number);
  const sd = Math.max(modelSd, step / 2);
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
