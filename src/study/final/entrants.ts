import type { Measurement } from '#profiler/measurement.ts';
import { DEVIATIONS_AT_95_PERCENT, expectedImprovement } from '#stats/normal.ts';
import { assess, compareAssessments, costHalfWidth, isFeasible } from '../goal/goal.ts';
import { findChosen } from '../goal/ranking.ts';
import { LIKELY } from '../level-chances.ts';
import type { Goal } from '../types.ts';
import { computeCost, costServing, type FinalState, listMeasurements, type Side, toSide } from './sides.ts';
import { compareSimplicity, MAX_TIE } from './simplicity.ts';

/** Finalists, at most, the original config not counted, … */
const MAX_FINALISTS = 4;
/**
 * … and of these, the number that meet at once: a third one about as good is not worth its loads.
 */
export const MAX_AT_ONCE = 2;
/**
 * The least improvement, as a difference of logarithms, that measuring the next best again must
 * promise.
 */
export const WORTH_A_LOOK = 0.02;
/**
 * The least improvement over the original config, as a difference of logarithms, that a final must
 * promise: it knows a gain to ±5 %.
 */
const WORTH_A_FINAL = 0.05;
/** The least half-width of a cost: no two runs are alike. */
const MIN_HALF_WIDTH = 0.01;

/**
 * Returns the candidates for the final, the best first and each candidate once: the best of the
 * search, those likely to serve more within the goal than the original config, and those that were
 * in it already. `close` of them, from the first, are so near or so uncertain that measuring them
 * again promises an improvement.
 */
export function chooseEntrants(state: FinalState, baseline: Side): { sides: readonly Side[]; close: number } {
  const { trials, finals } = state;
  const all = trials
    .filter((trial) => trial !== baseline.trial && findChosen(trial) !== undefined)
    .flatMap((trial) => toSide(trial, state) ?? []);
  const isPlayed = ({ trial }: Side): boolean => finals.some((final) => final.trial === trial.number);
  // A side keeps its turn in a round whatever the readings of others in it.
  const isCalled = ({ trial }: Side): boolean => finals.some(({ rest }) => rest?.includes(trial.number));
  const sides = all
    .filter((side) => isPlayed(side) || isCalled(side) || isBetter(side, baseline, state))
    .sort((a, b) => compareSides(a, b, state) || a.trial.number - b.trial.number);
  const distinct = [...Map.groupBy(sides, ({ trial }) => trial.candidate.fingerprint).values()]
    .flatMap((sides) => sides.find(isPlayed) ?? sides.slice(0, 1))
    .filter((side, index) => index < MAX_FINALISTS || isPlayed(side));
  const [best, ...rest] = distinct;
  if (!best) return { sides: [], close: 0 };
  const others = simplestFirst(rest, best, baseline, state);
  const close = others.findIndex((side) => !isClose(side, best, state));
  return { sides: [best, ...others], close: Math.min(MAX_AT_ONCE, 1 + (close < 0 ? others.length : close)) };
}

/** Returns the sides with the simplest one first that is as good as the best, and simpler. */
function simplestFirst(sides: readonly Side[], best: Side, baseline: Side, state: FinalState): readonly Side[] {
  const { candidate } = baseline.trial;
  const [simplest] = sides
    .filter((side) => compareSimplicity(side.trial, best.trial, candidate) < 0)
    .filter(
      (side) => isClose(side, best, state) && computeCost(side, state.goal) - computeCost(best, state.goal) <= MAX_TIE,
    )
    .sort((a, b) => compareSimplicity(a.trial, b.trial, candidate));
  return simplest ? [simplest, ...sides.filter((side) => side !== simplest)] : sides;
}

/** True if the side may be better than the original config by enough for a final to tell. */
function isBetter(side: Side, baseline: Side, state: FinalState): boolean {
  const isContender = side.trial.number === state.contender?.number;
  if (!side.holds || !baseline.holds) return isContender || side.holds;
  const behind =
    (isContender ? computeCost(side, state.goal) : findSeenCost(side, state.goal)) - computeCost(baseline, state.goal);
  return (isContender || behind < 0) && computePromise(behind, jointHalfWidth(side, baseline, state)) >= WORTH_A_FINAL;
}

/**
 * Returns the cost without what the side promises above its highest measured level: there its curve
 * is a guess.
 */
function findSeenCost(side: Side, goal: Goal): number {
  const { curve, level } = side;
  const seen = Math.max(
    ...listMeasurements(side).flatMap((each) => (each.level.value <= level ? each.level.value : [])),
  );
  const cost = computeCost(side, goal);
  return curve && Number.isFinite(seen) ? Math.max(cost, costServing(side, curve.throughput(seen).mean, goal)) : cost;
}

/** Compares for sorting: those that were seen to meet the goal first, by their expected cost. */
function compareSides(a: Side, b: Side, state: FinalState): number {
  const [seen, otherSeen] = [hasMet(a, state.goal), hasMet(b, state.goal)];
  if (seen !== otherSeen) return seen ? -1 : 1;
  const [one, other] = [computeCost(a, state.goal), computeCost(b, state.goal)];
  if (one !== other) return one < other ? -1 : 1;
  const assessed = ({ trial }: Side) => assess(findChosen(trial) as Measurement, trial.candidate, state.goal);
  return compareAssessments(assessed(a), assessed(b));
}

/** True if the side holds, and a reading of it met the goal: else its level is a guess. */
const hasMet = (side: Side, goal: Goal): boolean =>
  side.holds && listMeasurements(side).some((each) => isFeasible(each, side.trial.candidate, goal));

/** True if measuring the side again promises an improvement over the best. */
export function isClose(side: Side, best: Side, state: FinalState): boolean {
  const behind = computeCost(side, state.goal) - computeCost(best, state.goal);
  return Number.isFinite(behind) && computePromise(behind, jointHalfWidth(side, best, state)) >= WORTH_A_LOOK;
}

const jointHalfWidth = (one: Side, other: Side, state: FinalState): number =>
  Math.hypot(computeHalfWidth(one, state), computeHalfWidth(other, state));

/**
 * Returns the half-width of the expected cost's 95 % interval: the uncertainty of throughput at the
 * level, and of the level.
 */
function computeHalfWidth({ trial, curve, level }: Side, { goal }: FinalState): number {
  if (!curve) return costHalfWidth(findChosen(trial) as Measurement, trial.candidate, goal);
  const likely = curve.highest(LIKELY) ?? level;
  const normal = curve.throughput(level);
  return Math.hypot(DEVIATIONS_AT_95_PERCENT * normal.sd, curve.throughput(likely).mean - normal.mean);
}

/**
 * Returns the expected improvement of a side that is behind by `behind`, both as logarithms.
 * `halfWidth`: half the 95 % interval of `behind`.
 */
export function computePromise(behind: number, halfWidth: number): number {
  const sd = Math.hypot(MIN_HALF_WIDTH, halfWidth) / DEVIATIONS_AT_95_PERCENT;
  return expectedImprovement({ mean: behind, sd }, 0);
}
