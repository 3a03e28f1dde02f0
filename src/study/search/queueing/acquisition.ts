import type { Choice } from '#perfmodel/modelled-config.ts';
import type { Candidate } from '#space/types.ts';
import type { LevelRange } from '../../types.ts';
import { atCoarseBatches, atFineBatches, coarseLevels, fineLevels } from './candidate-levels.ts';
import type { Without } from './mechanisms.ts';
import type { PosteriorModel, PosteriorPrediction } from './posterior-model.ts';

/** A candidate at a load level that could be measured next. */
export interface AcquisitionPoint {
  readonly choice: Choice;
  readonly level: number;
  readonly prediction: PosteriorPrediction;
  /** The cost of applying and measuring it, in seconds. */
  readonly seconds: number;
}

/** A point with its acquisition value. */
export interface ValuedPoint {
  readonly point: AcquisitionPoint;
  /** Expected improvement over the incumbent, as a difference of logarithms. */
  readonly improvement: number;
  /**
   * Expected improvement over the square root of the cost in seconds. Points are compared by it.
   */
  readonly acquisitionValue: number;
}

/**
 * Points with a lower chance of being feasible than this do not count: throughput spans decades,
 * chances do not.
 */
const MIN_FEASIBLE_CHANCE = 0.06;
/** The factor on the uncertainty with which levels are climbed. */
const WIDEST = 4;
/** The factor on the uncertainty that the stopping rule uses. */
const CAUTIOUS = 2;
/** Two levels in a row with a lower chance of being feasible than this, … */
const HOPELESS = 0.02;
/**
 * … or with a cost that is hardly lower than at the level before, end the climb through the levels.
 */
const NO_BETTER = 0.01;
/** The exponent of the cost in seconds: 0 ignores it, 1 is improvement per second. */
const TIME_EXPONENT = 0.5;
/** The number of choices, the best at coarse levels, whose fine levels are simulated too. */
const LOOKED_AT_CLOSELY = 24;
/** The chance from which on a point counts as probably feasible while there is no incumbent. */
const GOOD_CHANCE = 0.5;

/**
 * Sorts points by acquisition value, the best first. `best`: the incumbent's cost, a logarithm;
 * null while nothing is feasible.
 */
export function ranked(points: readonly AcquisitionPoint[], best: number | null): ValuedPoint[] {
  const valued = best === null ? firstToMeet(points) : improving(points, best);
  return valued.sort(
    (a, b) => b.acquisitionValue - a.acquisitionValue || samplesInFlight(a.point) - samplesInFlight(b.point),
  );
}

/**
 * The order of levels: samples in flight if the study varies the client batch, else the level
 * itself.
 */
export const samplesInFlight = ({ choice, level }: Pick<AcquisitionPoint, 'choice' | 'level'>): number =>
  level * (choice.clientBatch ?? 1);

/** Values the points that may meet the goal. */
const improving = (points: readonly AcquisitionPoint[], best: number): ValuedPoint[] =>
  points
    .filter(({ prediction }) => prediction.feasibleChance(1) >= MIN_FEASIBLE_CHANCE)
    .map((point) => computePointValue(point, best, 1));

/**
 * Returns a function that values points for a climb. While nothing is feasible: the chance of being
 * feasible, and above even chances the cost.
 */
export function climbingValue(best: number | null): (point: AcquisitionPoint) => number {
  if (best === null)
    return ({ prediction }) => {
      const chance = prediction.feasibleChance(1);
      return chance < GOOD_CHANCE ? chance : 1 + Math.exp(-prediction.cost.mean);
    };
  return (point) => computePointValue(point, best, 1).acquisitionValue;
}

/**
 * Returns the largest expected improvement of any point, as a difference of logarithms, with the
 * uncertainty doubled.
 */
export function largestImprovement(points: readonly AcquisitionPoint[], best: number): number {
  const able = points.filter(({ prediction }) => prediction.feasibleChance(CAUTIOUS) >= MIN_FEASIBLE_CHANCE);
  return Math.max(0, ...able.map((point) => computePointValue(point, best, CAUTIOUS).improvement));
}

/**
 * Values a point: constrained expected improvement over `best`, by the square root of the cost in
 * seconds.
 */
export function computePointValue(point: AcquisitionPoint, best: number, inflation: number): ValuedPoint {
  const improvement = point.prediction.expectedImprovement(best, inflation);
  return { point, improvement, acquisitionValue: improvement / point.seconds ** TIME_EXPONENT };
}

/**
 * Values points while nothing is feasible: by cost among those that probably are, else by the
 * chance of being feasible.
 */
function firstToMeet(points: readonly AcquisitionPoint[]): ValuedPoint[] {
  const chances = points.map(({ prediction }) => prediction.feasibleChance(1));
  const good = points.filter((_, index) => (chances[index] as number) >= GOOD_CHANCE);
  if (good.length === 0)
    return points.map((point, index) => {
      const improvement = chances[index] as number;
      return { point, improvement, acquisitionValue: improvement };
    });
  const worst = Math.max(...good.map(({ prediction }) => prediction.cost.mean));
  return good.map((point) => ({
    point,
    improvement: GOOD_CHANCE,
    acquisitionValue: worst - point.prediction.cost.mean,
  }));
}

/** Everything besides choice and level that a point's value depends on. */
export interface AcquisitionContext {
  readonly posterior: PosteriorModel;
  readonly range: LevelRange;
  /** The only levels that matter, the same for every choice; null if each choice has its own. */
  readonly rates: readonly number[] | null;
  /** The cost of applying and measuring a choice, in seconds. */
  seconds(choice: Choice): number;
  /** True if there is a measurement that the model cannot distinguish from this one. */
  isKnown(choice: Choice, level: number): boolean;
  /**
   * True if the level is too low for the choice to beat the incumbent and need not be simulated.
   */
  isTooLow(choice: Choice, level: number): boolean;
  readonly without: Without;
}

/**
 * Returns the points of all choices at coarse levels, and those of the best choices at finer levels
 * around their best one.
 */
export function listAcquisitionPoints(
  choices: readonly Choice[],
  context: AcquisitionContext,
  best: number | null,
): AcquisitionPoint[] {
  const coarse = coarsePoints(choices, context);
  return [...coarse, ...finePoints(coarse, context, best, LOOKED_AT_CLOSELY)];
}

/** Returns the points of choices at coarse levels and client batches. */
export const coarsePoints = (choices: readonly Choice[], context: AcquisitionContext): AcquisitionPoint[] =>
  choices.flatMap((choice) => atCoarseBatches(choice, context.range)).flatMap((choice) => upTheLevels(choice, context));

/** Returns points at finer levels around the best point of each of the `closely` best choices. */
export function finePoints(
  points: readonly AcquisitionPoint[],
  context: AcquisitionContext,
  best: number | null,
  closely: number,
): AcquisitionPoint[] {
  if (context.rates) return [];
  const seen = new Map<Candidate, AcquisitionPoint>();
  for (const { point } of ranked(points, best)) {
    if (seen.size >= closely) break;
    if (!seen.has(point.choice.candidate)) seen.set(point.choice.candidate, point);
  }
  return [...seen.values()].flatMap(({ choice, level }) => {
    const known = coarseLevels(choice, context.range);
    const levels = fineLevels(level, context.range).filter((each) => !known.includes(each));
    const batches = atFineBatches(choice, context.range).filter((each) => each !== choice);
    return [...pointsAt(choice, levels, context), ...batches.flatMap((each) => pointsAt(each, [level], context))];
  });
}

/**
 * Climbs the coarse levels of a choice, and stops after two in a row that are infeasible or no
 * better than the one before.
 */
function upTheLevels(choice: Choice, context: AcquisitionContext): AcquisitionPoint[] {
  const points: AcquisitionPoint[] = [];
  let before: PosteriorPrediction | null = null;
  let worse = 0;
  for (const level of context.rates ?? coarseLevels(choice, context.range)) {
    if (context.isTooLow(choice, level)) continue;
    const prediction = context.posterior.predict(choice, level);
    if (prediction === null) continue;
    const isBetter =
      before === null ||
      prediction.smoothCost < before.smoothCost - NO_BETTER ||
      prediction.feasibleChance(1) > before.feasibleChance(1);
    worse = isBetter && prediction.feasibleChance(WIDEST) >= HOPELESS ? 0 : worse + 1;
    before = prediction;
    if (!context.isKnown(choice, level)) points.push({ choice, level, prediction, seconds: context.seconds(choice) });
    if (worse >= 2) break;
  }
  return points;
}

/**
 * Returns the points of a choice at these levels, except those that need no further measurement.
 */
export function pointsAt(
  choice: Choice,
  levels: readonly number[],
  { posterior, seconds, isKnown }: AcquisitionContext,
): AcquisitionPoint[] {
  return levels.flatMap((level) => {
    if (isKnown(choice, level)) return [];
    const prediction = posterior.predict(choice, level);
    return prediction ? [{ choice, level, prediction, seconds: seconds(choice) }] : [];
  });
}

/**
 * The calibration of proposals' chances by Platt (1999), and the share of proposals of which the
 * model is right at all. A proposal is the best of many, so its chance is one of those that the
 * model puts too high. Fitted to 2,312 proposals of searches on made-up models, recorded grids and
 * grids of real GPUs' laws, each set with the same weight, and judged on 1,085 of grids that were
 * kept back (docs/benchmarks/search.md).
 */
const CALIBRATION = { offset: -0.35, slope: 0.9, share: 0.9 };

/**
 * Returns the chance of a proposal as it is stated: how often proposals of that chance by the model
 * met the goal. `modelled`: 0 to 1.
 */
export function statedChance(modelled: number): number {
  const { offset, slope, share } = CALIBRATION;
  // The odds to a power, times a factor.
  const odds = Math.exp(offset) * (modelled / (1 - modelled)) ** slope;
  return share * (odds === Number.POSITIVE_INFINITY ? 1 : odds / (1 + odds));
}
