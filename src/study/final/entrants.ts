import type { Measurement } from '../../profiler/measurement.ts';
import { DEVIATIONS_AT_95_PERCENT, expectedImprovement } from '../../stats/normal.ts';
import { assess, compareAssessments, costHalfWidth } from '../goal.ts';
import { LIKELY } from '../level/chances.ts';
import { chosenOf } from '../ranking.ts';
import { costOf, type FinalState, type Side, sideOf } from './sides.ts';

/** Of so many trials, the original config not among them, a final is made at most, … */
const MOST_FINALISTS = 4;
/** … and so many of them meet at once: what a third that is about as good would add is not worth its loads. */
export const MOST_AT_ONCE = 2;
/** The next best meets the first as long as to look again promises so much, as a logarithm; else it waits, or is done. */
export const WORTH_A_LOOK = 0.02;
/** Costs are never known better than this: no two runs are quite alike. */
const LEAST_HALF_WIDTH = 0.01;

/**
 * Who may be in the final, the best first, each candidate once: the best of the search, those that are likely to serve more within the
 * goal than the original config does, and whoever was in it before. `close` of them, from the first, are so near, or so unsure, that
 * measuring them again promises a gain.
 */
export function entrantsOf(state: FinalState, baseline: Side): { sides: readonly Side[]; close: number } {
  const { trials, finals } = state;
  const all = trials
    .filter((trial) => trial !== baseline.trial && chosenOf(trial) !== undefined)
    .flatMap((trial) => sideOf(trial, state) ?? []);
  const isPlayed = ({ trial }: Side): boolean => finals.some((final) => final.trial === trial.number);
  // What its round has read of others is no reason to leave it without its turn.
  const isCalled = ({ trial }: Side): boolean => finals.some(({ rest }) => rest?.includes(trial.number));
  const sides = all
    .filter((side) => isPlayed(side) || isCalled(side) || isBetter(side, baseline, state))
    .sort((a, b) => compareSides(a, b, state) || a.trial.number - b.trial.number);
  const distinct = [...Map.groupBy(sides, ({ trial }) => trial.candidate.fingerprint).values()]
    .flatMap((own) => own.find(isPlayed) ?? own.slice(0, 1))
    .filter((side, index) => index < MOST_FINALISTS || isPlayed(side));
  const [best, ...others] = distinct;
  if (!best) return { sides: [], close: 0 };
  const close = others.findIndex((side) => !isClose(side, best, state));
  return { sides: distinct, close: Math.min(MOST_AT_ONCE, 1 + (close < 0 ? others.length : close)) };
}

function isBetter(side: Side, baseline: Side, state: FinalState): boolean {
  // What the study would recommend without a final is what the final is there to confirm.
  if (side.trial.number === state.contender?.number) return true;
  return costOf(side, state.goal) < costOf(baseline, state.goal);
}

function compareSides(a: Side, b: Side, state: FinalState): number {
  const [one, other] = [costOf(a, state.goal), costOf(b, state.goal)];
  if (one !== other) return one < other ? -1 : 1;
  const assessed = ({ trial }: Side) => assess(chosenOf(trial) as Measurement, trial.candidate, state.goal);
  return compareAssessments(assessed(a), assessed(b));
}

/** To measure it again promises a gain over the best. */
export function isClose(side: Side, best: Side, state: FinalState): boolean {
  const behind = costOf(side, state.goal) - costOf(best, state.goal);
  if (!Number.isFinite(behind)) return false;
  return promiseOf(behind, Math.hypot(halfWidthOf(side, state), halfWidthOf(best, state))) >= WORTH_A_LOOK;
}

/** Half the 95 % interval of the expected cost: how well throughput is known at the level, and which level it is. */
function halfWidthOf({ trial, curve, level }: Side, { goal }: FinalState): number {
  if (!curve) return costHalfWidth(chosenOf(trial) as Measurement, goal);
  const likely = curve.highest(LIKELY) ?? level;
  const own = curve.throughput(level);
  return Math.hypot(DEVIATIONS_AT_95_PERCENT * own.sd, curve.throughput(likely).mean - own.mean);
}

/** What one that is behind by so much may yet gain on average, both as logarithms; `halfWidth` is half the 95 % interval of it. */
export function promiseOf(behind: number, halfWidth: number): number {
  const sd = Math.hypot(LEAST_HALF_WIDTH, halfWidth) / DEVIATIONS_AT_95_PERCENT;
  return expectedImprovement({ mean: behind, sd }, 0);
}
