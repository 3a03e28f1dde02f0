import type { Interval } from '../stats/interval.ts';
import { chanceBelow } from '../stats/normal.ts';
import type { RateReading } from './reading.ts';

/** What is known of the capacity before rates are measured. */
export interface CapacityPrior {
  /** Requests per second that the capacity is certainly above and below. */
  readonly low: number;
  readonly high: number;
  /** A first guess, which may be far off; null for none. */
  readonly likely: number | null;
  /** The most that the server was seen to serve, which no capacity can be far above; null where nothing was seen. */
  readonly mostServed: number | null;
  /** A server on this host's CPU is as fast as the host; of any other the host's speed says nothing. */
  readonly followsHost: boolean;
}

/** The distribution of the capacity, given the readings. */
export interface CapacityPosterior {
  /** The chance that the server keeps the budget at this rate. */
  chance(perSecond: number): number;
  /** The rate below which the capacity is with this chance. */
  quantile(chance: number): number;
  /** The median with the 95 % interval. */
  readonly interval: Interval;
  /** Rates with their chances, for sums over the distribution. */
  readonly points: readonly CapacityPoint[];
}

export interface CapacityPoint {
  readonly perSecond: number;
  readonly weight: number;
}

/**
 * The shapes of latency over rate that are considered: L(λ) = F + (B − F) · g / (1 + g − λ/c), the law of a queue with the capacity c at which
 * latency L is the budget B, the saturation rate c(1 + g) and the latency F of an idle server.
 */
const GAPS = [0.005, 0.013, 0.033, 0.08, 0.2, 0.5, 1.3, 3.5] as const;
const FLOORS = [0.1, 0.4, 0.7, 0.9] as const;
/** Scatter of repeated readings beyond their own error, as a logarithm of the latency, and as one of the rate that the server can take. */
const LATENCY_SCATTERS = [0.03, 0.08, 0.16, 0.3] as const;
const RATE_SCATTERS = [0.002, 0.006, 0.02, 0.06] as const;
/** The index of the usual scatter; the log prior falls by `SCATTER_PRIOR` per step from it. */
const USUAL_SCATTER = 1;
const SCATTER_PRIOR = 0.5;
/** Readings over the budget by more than this factor say no more than that it was missed, and those far under it that it was kept. */
const MOST_EXCESS = Math.log(3);
const LEAST_EXCESS = Math.log(0.02);
/** The errors of readings have tails as Student's t with so many degrees of freedom: a stall is no proof. */
const DEGREES = 5;
/** What a server was seen to serve, it may serve more of by about this share at another moment. */
const SERVED_SD = 0.03;
const SATURATION_SD = 0.12;
/** Half of all capacities are within about this of a first guess, as a logarithm. */
const GUESS_SCALE = 0.25;
/** The host's own work scatters by this much as a logarithm (see study/speed). */
const HOST_SD = 0.03;
/** Prior log odds that a server on this host's CPU is as fast as the host. */
const HOST_LOG_ODDS = 2;
/** Points of each grid over the logarithm of the capacity, grids inside each other, and the mass that the next one leaves out. */
const POINTS = 97;
const GRIDS = 3;
const LEFT_OUT = 1e-6;

/**
 * Returns the posterior of the capacity: a Bayesian threshold estimate as QUEST makes of psychometric functions (Watson and Pelli, 1983), with
 * the figures of the readings in place of yes and no. Sums over shapes and scatters on a grid. Without readings it is the prior.
 */
export function capacityPosterior(readings: readonly RateReading[], prior: CapacityPrior): CapacityPosterior {
  let [low, high] = [Math.log(prior.low), Math.log(prior.high)];
  let grid = gridOver(low, high, readings, prior);
  for (let finer = 1; finer < GRIDS; finer++) {
    const kept = grid.weights.map((weight, index) => ({ weight, index })).filter(({ weight }) => weight > LEFT_OUT);
    const step = (high - low) / (POINTS - 1);
    const [first, last] = [(kept[0]?.index ?? 0) - 1, (kept.at(-1)?.index ?? POINTS - 1) + 1];
    if (last - first > POINTS / 2) break;
    [low, high] = [Math.max(low, low + first * step), Math.min(high, low + last * step)];
    grid = gridOver(low, high, readings, prior);
  }
  return posteriorOn(grid);
}

interface Grid {
  readonly logs: readonly number[];
  /** Add up to 1. */
  readonly weights: readonly number[];
}

function gridOver(low: number, high: number, readings: readonly RateReading[], prior: CapacityPrior): Grid {
  const logs = Array.from({ length: POINTS }, (_, at) => low + ((high - low) * at) / (POINTS - 1));
  const likelihoods = logs.map((log) => logPriorAt(log, prior) + logLikelihood(log, readings, prior));
  const most = Math.max(...likelihoods);
  const weights = likelihoods.map((each) => Math.exp(each - most));
  const sum = weights.reduce((total, weight) => total + weight, 0);
  return { logs, weights: weights.map((weight) => weight / sum) };
}

function logPriorAt(log: number, { likely }: CapacityPrior): number {
  // Cauchy: readings soon outweigh a wrong guess.
  const guess = likely === null ? 0 : -Math.log(1 + ((log - Math.log(likely)) / GUESS_SCALE) ** 2);
  return guess;
}

/** The log chance that a figure known to `sd` is above `log`; never so small that readings could not outweigh it. */
const logChanceAbove = (log: number, mean: number, sd: number): number =>
  Math.log(1e-9 + chanceBelow((mean - log) / sd));

/** The log likelihood of the readings where the capacity's logarithm is `log`, over all shapes, scatters and hosts. */
function logLikelihood(log: number, readings: readonly RateReading[], prior: CapacityPrior): number {
  const { followsHost, mostServed } = prior;
  const knowsSpeed = followsHost && readings.some(({ logSpeed }) => logSpeed !== null);
  const along = knowsSpeed ? Math.log(1 / (1 + Math.exp(-HOST_LOG_ODDS))) : 0;
  const parts: number[] = [];
  for (const follows of knowsSpeed ? [true, false] : [false]) {
    const logOdds = follows || !knowsSpeed ? along : along - HOST_LOG_ODDS;
    const fixed = readings.reduce((sum, reading) => sum + overloadLikelihood(log, reading, follows), logOdds);
    for (const gap of GAPS) {
      const saturation = log + Math.log(1 + gap);
      const atMost = mostServed === null ? 0 : logChanceAbove(saturation, Math.log(mostServed), SATURATION_SD);
      for (const floor of FLOORS) shapeLikelihoods(parts, fixed + atMost, readings, { log, gap, floor, follows });
    }
  }
  return logSum(parts);
}

/** A server that does not keep up serves all it can, which is no less than its capacity. */
function overloadLikelihood(log: number, reading: RateReading, follows: boolean): number {
  const { perSecond, served, isUnsustained, logSpeed } = reading;
  if (!isUnsustained || served.mean <= 0) return 0;
  const speed = follows ? (logSpeed ?? 0) : 0;
  return logChanceAbove(log, Math.log(perSecond * served.mean) - speed, Math.hypot(SERVED_SD, served.sd));
}

interface Shape {
  readonly log: number;
  readonly gap: number;
  readonly floor: number;
  readonly follows: boolean;
}

/** Adds the log likelihood under one shape, for each pair of scatters. */
function shapeLikelihoods(parts: number[], fixed: number, readings: readonly RateReading[], shape: Shape): void {
  const expected = readings.map((reading) => expectedAt(reading, shape));
  for (const [i, latencyScatter] of LATENCY_SCATTERS.entries()) {
    for (const [j, rateScatter] of RATE_SCATTERS.entries()) {
      let sum = fixed - SCATTER_PRIOR * (Math.abs(i - USUAL_SCATTER) + Math.abs(j - USUAL_SCATTER));
      for (const { residual, slope, variance } of expected) {
        const shifted = Math.min(1, slope * rateScatter);
        const all = variance + latencyScatter ** 2 + shifted * shifted;
        // Student's t, but for a constant.
        sum += (DEGREES / 2) * Math.log(all) - ((DEGREES + 1) / 2) * Math.log(DEGREES * all + residual * residual);
      }
      parts.push(sum);
    }
  }
}

interface Expected {
  /** Seen less expected. */
  readonly residual: number;
  /** Of the logarithm of latency over that of the rate. */
  readonly slope: number;
  readonly variance: number;
}

function expectedAt({ perSecond, excess, isUnsustained, logSpeed }: RateReading, shape: Shape): Expected {
  const { log, gap, floor, follows } = shape;
  // A host twice as fast takes twice the rate, and all times are half as long.
  const speed = follows ? (logSpeed ?? 0) : 0;
  const share = Math.exp(Math.log(perSecond) - speed - log);
  const left = 1 + gap - share;
  const ratio = left > 0 ? floor + ((1 - floor) * gap) / left : Number.POSITIVE_INFINITY;
  const isCapped = Math.log(ratio) - speed >= MOST_EXCESS;
  const mean = isCapped ? MOST_EXCESS : Math.log(ratio) - speed;
  const slope = isCapped ? 0 : ((1 - floor) * gap * share) / (left * left * ratio);
  const seen = isUnsustained ? MOST_EXCESS : Math.min(Math.max(excess.mean, LEAST_EXCESS), MOST_EXCESS);
  const hostVariance = speed === 0 ? 0 : (HOST_SD * (1 + slope)) ** 2;
  return { residual: seen - mean, slope, variance: Math.min(excess.sd, 1) ** 2 + Math.min(1, hostVariance) };
}

function logSum(parts: readonly number[]): number {
  let most = Number.NEGATIVE_INFINITY;
  for (const part of parts) most = Math.max(most, part);
  let sum = 0;
  for (const part of parts) sum += Math.exp(part - most);
  return most + Math.log(sum);
}

function posteriorOn({ logs, weights }: Grid): CapacityPosterior {
  const step = (logs[1] as number) - (logs[0] as number);
  // Each weight is spread evenly over the cell around its point.
  const ends: number[] = [];
  let total = 0;
  for (const weight of weights) {
    total += weight;
    ends.push(total);
  }
  const below = (log: number): number => {
    const at = (log - (logs[0] as number)) / step + 0.5;
    const cell = Math.floor(at);
    if (cell < 0) return 0;
    if (cell >= weights.length) return 1;
    return (ends[cell - 1] ?? 0) + (weights[cell] as number) * (at - cell);
  };
  const quantile = (chance: number): number => {
    const found = ends.findIndex((end) => end >= chance);
    const cell = found < 0 ? ends.length - 1 : found;
    const inside = (chance - (ends[cell - 1] ?? 0)) / Math.max(weights[cell] as number, 1e-300);
    return Math.exp((logs[0] as number) + (cell - 0.5 + Math.min(Math.max(inside, 0), 1)) * step);
  };
  return {
    chance: (perSecond) => 1 - below(Math.log(perSecond)),
    quantile,
    interval: { value: quantile(0.5), low: quantile(0.025), high: quantile(0.975) },
    points: logs.map((log, index) => ({ perSecond: Math.exp(log), weight: weights[index] as number })),
  };
}
