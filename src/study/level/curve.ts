import { mean } from 'simple-statistics';
import type { LoadLevel } from '../../loadgen/types.ts';
import type { Measurement } from '../../profiler/measurement.ts';
import { type Hypothesis, matern52, type Normal, posteriorOf, type Reading } from '../../stats/gaussian-process.ts';
import { chanceBelow, DEVIATIONS_AT_95_PERCENT } from '../../stats/normal.ts';
import { relativeHalfWidth } from '../../stats/precision.ts';
import type { LevelRange } from '../types.ts';
import { LIKELY, RECOMMENDED_CHANCE } from './chances.ts';

/** The budgeted percentile and the throughput of one config over the load level, fitted to all its readings near the budget. */
export interface LevelCurve {
  /** The chance that the config keeps the budget at this level, 0 to 1. */
  chance(level: number): number;
  /** The logarithm of the budgeted percentile in milliseconds, and of the throughput in infer/s. */
  latency(level: number): Normal;
  throughput(level: number): Normal;
  /** The highest level up to which the budget is kept with this chance; null where even the lowest has less. */
  highest(chance: number): number | null;
  /**
   * The level to recommend: the highest that keeps the budget with a chance of 90 %, unless that costs more throughput than the chance is
   * worth; of levels that were measured and serve about as much the lowest. null where none is likely to keep the budget.
   */
  readonly recommended: RecommendedLevel | null;
}

export interface RecommendedLevel {
  readonly level: number;
  /** The logarithm of its throughput, less what its chance lacks to 90 %. */
  readonly worth: number;
}

/** How a logarithm depends on that of the level: the slope that is expected, and how far from it a config may be. */
interface Shape {
  readonly slope: number;
  readonly slopeSd: number;
  readonly bend: number;
  /** What one level has of its own besides: how its requests fall into batches. */
  readonly own: number;
  /** Readings of one config at one level differ by this much for no reason that is known; one of these. */
  readonly scatters: readonly number[];
}

/**
 * In a closed loop that keeps its instances busy, latency grows as the level does (Little's law), and throughput hardly; below that
 * the other way round. At a request rate latency may grow far faster, and what is served is the rate.
 */
const SHAPES: Readonly<Record<LoadLevel['mode'], { readonly latency: Shape; readonly throughput: Shape }>> = {
  concurrency: {
    latency: { slope: 0.9, slopeSd: 0.35, bend: 0.08, own: 0.1, scatters: [0.03, 0.08, 0.16, 0.3] },
    throughput: { slope: 0.3, slopeSd: 0.3, bend: 0.05, own: 0.02, scatters: [0.015, 0.04, 0.1] },
  },
  'request-rate': {
    latency: { slope: 1, slopeSd: 1.2, bend: 0.15, own: 0.1, scatters: [0.03, 0.08, 0.16, 0.3] },
    throughput: { slope: 1, slopeSd: 0.05, bend: 0.01, own: 0.01, scatters: [0.015, 0.04] },
  },
};
/** Nothing is known of where the line lies. */
const HEIGHT_SD = 3;
/** Over so many times the level a bend is another one, as a logarithm: two times. */
const BEND_LENGTH = Math.LN2;
/** Readings farther from the budget's level than this many times say nothing of it, … */
const NEARBY = 3;
/** … unless what they read is within this factor of the budget: latency may hardly depend on the level. */
const NEAR_BUDGET = 1.25;
/** A level is never taken for good so many times above the highest that was measured; the next whole one may be. */
const FARTHEST = 1.3;
/**
 * Throughputs this near, as logarithms, are alike: less than this, two readings of one config on a real server often differ by. With 0.03 in place
 * of 0.01, 66 whole studies in virtual time reach 94.8 % in place of 93.8 %, and with stalls 89.8 in place of 90.3 %.
 */
const AS_MUCH = 0.03;
/**
 * A level whose chance is lower than 90 % counts as this power of what it lacks: a tenth less throughput where it is 85 %. Where latency
 * hardly depends on the level, to go lower costs throughput and makes nothing surer.
 */
const CHANCE_WORTH = 2;
/** Levels of a request rate are looked at in steps of this ratio. */
const STEP = 1.02;
/** Up to so many whole batches in flight a step of half a batch is looked at too: whole steps would be too far apart. */
const FEW_BATCHES = 2;
/**
 * Requests that fill no whole batch wait for others: latency and throughput then leave the curve of whole batches by about this much, as a
 * logarithm (simulations of Triton's batcher with one to four instances: 0.05 to 0.3).
 */
const UNFILLED_SD = 0.2;
/** A level so near to whole batches counts as that. */
const FILLED = 0.02;

/**
 * Fits the curve. `readings`: of one config, at the study's usual speed; those that the client limited, and those whose percentile is
 * not the budget's, are passed over. `wholeBatch`: the requests that fill one batch. null where no reading is left. Gaussian-process regression on logarithms (Rasmussen and Williams, 2006,
 * algorithm 2.1), with the mean a line of the expected slope.
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
    near.map((each) => pointOf(each, each.budgetLatencyMs)),
    shape.latency,
    unit,
  );
  const served = lineThrough(
    near.map((each) => pointOf(each, each.throughput)),
    shape.throughput,
    unit,
  );
  const measured = near.map(({ level }) => level.value);
  const [bottom, top] = [Math.min(...measured), Math.max(...measured)];
  // Less load serves no more, where nothing was read of it.
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
  const highest = (wanted: number): number | null => chances.findLast(({ kept }) => kept >= wanted)?.level ?? null;
  const valued = chances
    .filter(({ kept }) => kept >= LIKELY)
    .map(({ level, kept }) => ({
      level,
      worth: throughput(level).mean + CHANCE_WORTH * Math.min(0, Math.log(kept / RECOMMENDED_CHANCE)),
    }));
  return { chance, latency, throughput, highest, recommended: bestOf(valued, measured) };
}

/** The level of most worth; in its place the lowest measured one that is worth about as much. */
function bestOf(valued: readonly RecommendedLevel[], measured: readonly number[]): RecommendedLevel | null {
  const most = Math.max(...valued.map((each) => each.worth));
  const best = valued.findLast((each) => each.worth === most);
  const alike = valued.find((each) => measured.includes(each.level) && each.worth >= most - AS_MUCH);
  return best && alike && alike.level < best.level ? alike : (best ?? null);
}

/** Levels that are worth a look: every one up to a batch, then whole batches, and halves of the first few. */
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

/** Requests are left over that fill no batch. */
function isUnfilled(level: number, unit: number): boolean {
  if (unit <= 1 || level <= unit) return false;
  const whole = Math.round(level / unit) * unit;
  return Math.abs(level - whole) > FILLED * level;
}

/**
 * Those near the level where the budget is crossed, and those that are near the budget themselves. And those
 * below levels that missed it: where a lower level is looked at because higher ones were late, what is read there decides.
 */
function nearTheBudget(readings: readonly Measurement[], latencyMs: number): readonly Measurement[] {
  const excess = ({ budgetLatencyMs }: Measurement): number =>
    Math.max(budgetLatencyMs.value / latencyMs, latencyMs / budgetLatencyMs.value);
  const isMet = ({ budgetLatencyMs }: Measurement): boolean => budgetLatencyMs.value <= latencyMs;
  const highestMet = Math.max(...readings.filter(isMet).map(({ level }) => level.value));
  const lowestMissed = Math.min(...readings.filter((each) => !isMet(each)).map(({ level }) => level.value));
  // Where a level keeps the budget, the crossing is not below it, however near the budget lower levels were.
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

/** No reading is known better than this: no two are quite alike. */
const LEAST_SD = 0.01;

function pointOf({ level }: Measurement, figure: { value: number; low: number; high: number }): Point {
  const width = relativeHalfWidth(figure) / DEVIATIONS_AT_95_PERCENT;
  const sd = Number.isFinite(width) ? Math.min(0.5, width) : 0.5;
  return { level: level.value, x: Math.log(level.value), y: Math.log(figure.value), variance: LEAST_SD ** 2 + sd ** 2 };
}

/** Where a reading is, and which it is: what scatters it is its own. */
interface Place {
  readonly x: number;
  readonly reading: number | null;
  /** Its requests fill no whole batches. */
  readonly isUnfilled: boolean;
}

/** The scatter that is usual; each doubling of it, or half, is less likely by this much, as a logarithm. */
const USUAL_SCATTER = 1;
const SCATTER_PRIOR = 0.5;

function lineThrough(points: readonly Point[], shape: Shape, unit: number): (level: number) => Normal {
  const [x0, y0] = [mean(points.map(({ x }) => x)), mean(points.map(({ y }) => y))];
  const line = (x: number): number => y0 + shape.slope * (x - x0);
  const readings = points.map(
    ({ level, x, y, variance }, reading): Reading<Place> => ({
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
        shape.bend ** 2 * matern52(Math.abs(a.x - b.x) / BEND_LENGTH) +
        (a.reading !== null && a.reading === b.reading ? scatter ** 2 : 0) +
        (a.x === b.x ? shape.own ** 2 + (a.isUnfilled ? UNFILLED_SD ** 2 : 0) : 0),
      logPrior: -SCATTER_PRIOR * Math.abs(index - USUAL_SCATTER),
    }),
  );
  const posterior = posteriorOf(readings, hypotheses as [Hypothesis<Place>, ...Hypothesis<Place>[]]);
  return (level) => {
    const x = Math.log(level);
    const { mean: middle, sd } = posterior({ x, reading: null, isUnfilled: isUnfilled(level, unit) });
    return { mean: line(x) + middle, sd };
  };
}
