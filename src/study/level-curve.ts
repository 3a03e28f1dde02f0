import { mean } from 'simple-statistics';
import type { LoadLevel } from '#loadgen/types.ts';
import type { Measurement } from '#profiler/measurement.ts';
import {
  computePosterior,
  type Hypothesis,
  matern52,
  type NoisyReading,
  type Normal,
} from '#stats/gaussian-process.ts';
import { chanceBelow, DEVIATIONS_AT_95_PERCENT } from '#stats/normal.ts';
import { relativeHalfWidth } from '#stats/precision.ts';
import { LIKELY, RECOMMENDED_CHANCE } from './level-chances.ts';
import type { LevelRange } from './types.ts';

/**
 * The budgeted percentile and the throughput of one config as functions of the load level, fitted
 * to its readings near the budget.
 */
export interface LevelCurve {
  /** The probability that the config keeps the budget at this level, 0 to 1. */
  chance(level: number): number;
  /** The logarithms of the budgeted percentile in milliseconds and of the throughput in infer/s. */
  latency(level: number): Normal;
  throughput(level: number): Normal;
  /**
   * The highest level with at least this probability of keeping the budget; null if even the lowest
   * has less.
   */
  highest(chance: number): number | null;
  /**
   * The level to recommend: the highest with a probability of 90 % of keeping the budget, unless
   * that costs more throughput than the probability is worth; of measured levels with about equal
   * throughput the lowest. null if no level is likely to keep the budget.
   */
  readonly recommended: RecommendedLevel | null;
}

/** A level that may be recommended. */
export interface RecommendedLevel {
  readonly level: number;
  /** The logarithm of its throughput, less a penalty for a probability below 90 %. */
  readonly worth: number;
}

/**
 * The prior of a figure as a function of the level, both as logarithms: slope and its standard
 * deviation.
 */
interface Shape {
  readonly slope: number;
  readonly slopeSd: number;
  readonly curvature: number;
  /** The standard deviation that one level has of its own: how its requests fall into batches. */
  readonly levelSd: number;
  /** Hypotheses of the unexplained scatter of repeated readings at one level. */
  readonly scatters: readonly number[];
}

/**
 * In a closed loop with busy instances latency grows with the level (Little's law) and throughput
 * hardly does; below saturation it is the other way round. At a request rate latency may grow far
 * faster, and throughput is the rate.
 */
const SHAPES: Readonly<Record<LoadLevel['mode'], { readonly latency: Shape; readonly throughput: Shape }>> = {
  concurrency: {
    latency: { slope: 0.9, slopeSd: 0.35, curvature: 0.08, levelSd: 0.1, scatters: [0.03, 0.08, 0.16, 0.3] },
    throughput: { slope: 0.3, slopeSd: 0.3, curvature: 0.05, levelSd: 0.02, scatters: [0.015, 0.04, 0.1] },
  },
  'request-rate': {
    latency: { slope: 1, slopeSd: 1.2, curvature: 0.15, levelSd: 0.1, scatters: [0.03, 0.08, 0.16, 0.3] },
    throughput: { slope: 1, slopeSd: 0.05, curvature: 0.01, levelSd: 0.01, scatters: [0.015, 0.04] },
  },
};
/** The prior standard deviation of the line's height. */
const HEIGHT_SD = 3;
/** The length scale of deviations from the line, as a logarithm of the level. */
const CURVATURE_LENGTH = Math.LN2;
/** Readings count within this ratio of the level at which the budget is crossed, … */
const NEARBY = 3;
/**
 * … and outside it where their percentile is within this ratio of the budget: latency may hardly
 * depend on the level.
 */
const NEAR_BUDGET = 1.25;
/**
 * A level is recommended at most this ratio above the highest measured one; the next whole one
 * always may be.
 */
const FARTHEST = 1.3;
/**
 * Throughputs within this difference of logarithms count as equal; two readings of one config on a
 * real server often differ by more. With 0.03 instead of 0.01, 66 whole studies in virtual time
 * reach 94.8 % instead of 93.8 %, and with stalls 89.8 instead of 90.3 %.
 */
const AS_MUCH = 0.03;
/**
 * The exponent of the penalty (P / 90 %): a tenth less throughput where P is 85 %. Where latency
 * hardly depends on the level, a lower level costs throughput and makes nothing surer.
 */
const CHANCE_WORTH = 2;
/** The ratio of neighbouring request rates that are evaluated. */
const STEP = 1.02;
/** Up to this number of batches in flight, half batches are evaluated too. */
const FEW_BATCHES = 2;
/**
 * The standard deviation, as a logarithm, by which latency and throughput leave the curve where
 * requests fill no whole batch and wait for others (simulations of Triton's batcher with one to
 * four instances: 0.05 to 0.3).
 */
const UNFILLED_SD = 0.2;
/** A level within this share of whole batches counts as filled. */
const FILLED = 0.02;

/**
 * Fits the curve by Gaussian-process regression on logarithms (Rasmussen and Williams, 2006,
 * algorithm 2.1), with a line of the expected slope as mean. `readings`: all of one config, at the
 * study's usual speed; those that the client limited, and those of another percentile than the
 * budget's, are ignored. `wholeBatch`: the requests that fill one batch. null if no reading is
 * left.
 */
export function levelCurve(
  readings: readonly Measurement[],
  budget: { readonly percentile: number; readonly latencyMs: number },
  { mode, low, high }: LevelRange,
  wholeBatch: number,
): LevelCurve | null {
  const usable = readings.filter(
    ({ client, level, budgetLatencyMs, throughput }) =>
      !client.bound &&
      level.mode === mode &&
      throughput.value > 0 &&
      budgetLatencyMs.percentile === budget.percentile &&
      budgetLatencyMs.value > 0,
  );
  const near = nearTheBudget(usable, budget.latencyMs);
  if (near.length === 0) return null;
  const shape = SHAPES[mode];
  const unit = mode === 'concurrency' ? Math.max(1, wholeBatch) : 0;
  const latency = lineThrough(
    near.map((each) => toPoint(each, each.budgetLatencyMs)),
    shape.latency,
    unit,
  );
  const served = lineThrough(
    near.map((each) => toPoint(each, each.throughput)),
    shape.throughput,
    unit,
  );
  const measured = near.map(({ level }) => level.value);
  const [bottom, top] = [Math.min(...measured), Math.max(...measured)];
  // Below the lowest reading, throughput does not rise.
  const atBottom = served(bottom).mean;
  const throughput = (level: number): Normal => {
    const here = served(level);
    return level < bottom ? { ...here, mean: Math.min(here.mean, atBottom) } : here;
  };
  const logBudget = Math.log(budget.latencyMs);
  const chance = (level: number): number => {
    const { mean: middle, sd } = latency(level);
    return chanceBelow((logBudget - middle) / sd);
  };
  const most = Math.min(high, mode === 'concurrency' ? Math.max(FARTHEST * top, top + 1) : FARTHEST * top);
  const lowest = Math.max(low, bottom / NEARBY);
  const steps = mode === 'concurrency' ? wholeSteps(lowest, most, unit) : rateSteps(lowest, most);
  const levels = [...new Set([...steps, ...measured])].sort((a, b) => a - b);
  const chances = levels.map((level) => ({ level, kept: chance(level) }));
  const highest = (chance: number): number | null => chances.findLast(({ kept }) => kept >= chance)?.level ?? null;
  const valued = chances
    .filter(({ kept }) => kept >= LIKELY)
    .map(({ level, kept }) => ({
      level,
      worth: throughput(level).mean + CHANCE_WORTH * Math.min(0, Math.log(kept / RECOMMENDED_CHANCE)),
    }));
  return { chance, latency, throughput, highest, recommended: findBest(valued, measured) };
}

/** Returns the level of the highest worth, or the lowest measured one with about the same. */
function findBest(valued: readonly RecommendedLevel[], measured: readonly number[]): RecommendedLevel | null {
  const most = Math.max(...valued.map((each) => each.worth));
  const best = valued.findLast((each) => each.worth === most);
  const alike = valued.find((each) => measured.includes(each.level) && each.worth >= most - AS_MUCH);
  return best && alike && alike.level < best.level ? alike : (best ?? null);
}

/**
 * Returns the levels to evaluate: every level up to a batch, then whole batches, and half batches
 * between the first few.
 */
function wholeSteps(low: number, high: number, unit: number): number[] {
  const levels: number[] = [];
  for (let level = Math.ceil(low); level <= Math.min(high, unit); level++) levels.push(level);
  for (let batches = 1; batches * unit <= high; batches += batches < FEW_BATCHES ? 0.5 : 1) {
    const level = Math.round(batches * unit);
    if (level >= low) levels.push(level);
  }
  return levels;
}

function rateSteps(low: number, high: number): number[] {
  const levels: number[] = [];
  for (let level = low; level <= high; level *= STEP) levels.push(Number(level.toPrecision(3)));
  return levels;
}

/** True if requests are left over that fill no whole batch. */
function isUnfilled(level: number, unit: number): boolean {
  if (unit <= 1 || level <= unit) return false;
  const whole = Math.round(level / unit) * unit;
  return Math.abs(level - whole) > FILLED * level;
}

/**
 * Returns the readings near the crossing of the budget: those near in level, those near in latency,
 * and those below levels that missed it, because they determine where to look for a lower level.
 */
function nearTheBudget(readings: readonly Measurement[], latencyMs: number): readonly Measurement[] {
  const excess = ({ budgetLatencyMs }: Measurement): number =>
    Math.max(budgetLatencyMs.value / latencyMs, latencyMs / budgetLatencyMs.value);
  const isMet = ({ budgetLatencyMs }: Measurement): boolean => budgetLatencyMs.value <= latencyMs;
  const highestMet = Math.max(...readings.filter(isMet).map(({ level }) => level.value));
  const lowestMissed = Math.min(...readings.filter((each) => !isMet(each)).map(({ level }) => level.value));
  // The crossing is not below a level that keeps the budget.
  const upper = readings.filter(({ level }) => level.value >= highestMet).sort((a, b) => excess(a) - excess(b));
  const [nearest] = upper;
  if (!nearest) return [];
  return readings.filter((each) => {
    const { value } = each.level;
    const times = Math.max(value / nearest.level.value, nearest.level.value / value);
    return times <= NEARBY || excess(each) <= NEAR_BUDGET || (value <= lowestMissed && value * NEARBY >= lowestMissed);
  });
}

interface Point {
  readonly level: number;
  readonly x: number;
  readonly y: number;
  readonly variance: number;
}

/** The least standard deviation of a reading: no two are alike. */
const MIN_SD = 0.01;

function toPoint({ level }: Measurement, figure: { value: number; low: number; high: number }): Point {
  const width = relativeHalfWidth(figure) / DEVIATIONS_AT_95_PERCENT;
  const sd = Number.isFinite(width) ? Math.min(0.5, width) : 0.5;
  return { level: level.value, x: Math.log(level.value), y: Math.log(figure.value), variance: MIN_SD ** 2 + sd ** 2 };
}

/**
 * A point of the Gaussian process: the level's logarithm and the index of the reading, which has
 * scatter of its own.
 */
interface Place {
  readonly x: number;
  readonly reading: number | null;
  /** True if the requests fill no whole batches. */
  readonly isUnfilled: boolean;
}

/** The index of the usual scatter; the log prior falls by `SCATTER_PRIOR` per step from it. */
const USUAL_SCATTER = 1;
const SCATTER_PRIOR = 0.5;

function lineThrough(points: readonly Point[], shape: Shape, unit: number): (level: number) => Normal {
  const [x0, y0] = [mean(points.map(({ x }) => x)), mean(points.map(({ y }) => y))];
  const line = (x: number): number => y0 + shape.slope * (x - x0);
  const readings = points.map(
    ({ level, x, y, variance }, reading): NoisyReading<Place> => ({
      place: { x, reading, isUnfilled: isUnfilled(level, unit) },
      value: y - line(x),
      noiseVariance: variance,
    }),
  );
  const hypotheses = shape.scatters.map(
    (scatter, index): Hypothesis<Place> => ({
      kernel: (a, b) =>
        HEIGHT_SD ** 2 +
        shape.slopeSd ** 2 * (a.x - x0) * (b.x - x0) +
        shape.curvature ** 2 * matern52(Math.abs(a.x - b.x) / CURVATURE_LENGTH) +
        (a.reading !== null && a.reading === b.reading ? scatter ** 2 : 0) +
        (a.x === b.x ? shape.levelSd ** 2 + (a.isUnfilled ? UNFILLED_SD ** 2 : 0) : 0),
      logPrior: -SCATTER_PRIOR * Math.abs(index - USUAL_SCATTER),
    }),
  );
  const posterior = computePosterior(readings, hypotheses as [Hypothesis<Place>, ...Hypothesis<Place>[]]);
  return (level) => {
    const x = Math.log(level);
    const { mean: middle, sd } = posterior({ x, reading: null, isUnfilled: isUnfilled(level, unit) });
    return { mean: line(x) + middle, sd };
  };
}
