import type { Measurement } from '../profiler/measurement.ts';
import { decide } from './final/decide.ts';
import { disturbedRound } from './final/disturbance.ts';
import { levelOfVisit, type Rounds, roundsOf } from './final/rounds.ts';
import { type FinalState, keptClearly, type Side, sideOf } from './final/sides.ts';
import { isFeasible } from './goal.ts';
import { LIKELY } from './level/chances.ts';
import { isDoubted } from './ranking.ts';
import type { GainDecided } from './records.ts';
import type { StudyState } from './state.ts';
import type { Trial } from './types.ts';

/** What the final does next. */
export type FinalStep =
  | {
      readonly kind: 'measure';
      readonly trial: Trial;
      readonly level: number;
      readonly round: number;
      /** It is not at the level to recommend: a short look tells which that is. */
      readonly isLook: boolean;
      /** The trials that the round still takes after this one. */
      readonly rest: readonly number[];
      /** It is the first of its round. */
      readonly opensRound: boolean;
      /** What was measured last was of the same visit. */
      readonly isVisiting: boolean;
    }
  | { readonly kind: 'void'; readonly round: number; readonly slower: number }
  | { readonly kind: 'decide'; readonly decision: Decision };

/** Of a usual final, at least; more where a level or the gain is not yet known well enough. */
export const FINAL_ROUNDS = 2;

export type Decision = Omit<GainDecided, 'type' | 'at'>;

/**
 * The final: the best of the search, the next one if to measure it again promises a gain, and the original config, each at its own
 * level, in turn, there and back: O A B, B A O, … For `rounds` rounds at least, and up to three times as many until levels and gain are
 * known well enough. A level is the highest that keeps the budget with a chance of 90 %, by a curve through all readings of the config
 * at the study's usual speed (`level/curve.ts`): it is looked for anew before each measurement. A finalist that holds at no level is
 * out, as is one that another beats beyond doubt; the next best of the search comes in. A round in which one missed the goal and the
 * original config was far slower than before does not count. null when there is nothing to compare, and for no rounds.
 * `isHurried`: there is no time for a second measurement in a visit.
 */
export function nextFinal(state: StudyState, rounds: number, isHurried = false): FinalStep | null {
  if (rounds === 0) return null;
  const final = finalStateOf(state);
  const standing = roundsOf(final, rounds, isHurried);
  if (!standing) return null;
  const disturbed = standing.isFresh ? disturbedRound(final) : null;
  if (disturbed) return { kind: 'void', ...disturbed };
  if (standing.isOver) return { kind: 'decide', decision: decide(standing, state.goal) };
  return visitOf(standing);
}

function visitOf({ turns, isVisiting, isFresh, round }: Rounds): FinalStep | null {
  const [side, ...others] = turns;
  if (!side) return null;
  const level = levelOfVisit(side, isVisiting);
  const rest = others.map(({ trial }) => trial.number);
  return {
    kind: 'measure',
    trial: side.trial,
    level,
    round,
    isLook: level !== side.level,
    rest,
    opensRound: isFresh,
    isVisiting,
  };
}

/** What the final looks at, at the study's usual speed. */
export const finalStateOf = ({ compared, goal, started, voidRounds }: StudyState): FinalState => ({
  ...compared,
  ...{ goal, started, voidRounds },
});

/** Nothing is left to measure. Not so where an earlier run decided on the rounds that its time, or a failure, had left it. */
export function isFinalOver(state: StudyState, rounds: number): boolean {
  const step = nextFinal(state, rounds);
  return step === null || step.kind === 'decide';
}

/**
 * The decision on the rounds so far, for a final that is cut short; null before the first whole round. Where none of those that played
 * holds, one that kept the goal clearly in the search is better advice than the original config.
 */
export function decideNow(state: StudyState, rounds: number): Decision | null {
  const standing = roundsOf(finalStateOf(state), rounds);
  const { baseline, played = [], finalists = [], waiting = [] } = standing ?? {};
  if (!baseline || !played.some((side) => side.readings.some(({ round }) => hasRound(baseline.readings, round))))
    return null;
  // Who was about to come in is the best of those that did not.
  const unplayed = [...finalists.filter((side) => !played.includes(side)), ...waiting];
  const sure = unplayed.filter((side) => keptClearly(side, state.goal) && !isInDoubt(state, side.trial));
  return decide({ baseline, played }, state.goal, sure);
}

const hasRound = (readings: readonly { readonly round: number }[], round: number): boolean =>
  readings.some((reading) => reading.round === round);

/**
 * The measurement that stands for a trial in reports, and whether the goal is met: of those in the final that decided, at the level
 * nearest to the recommended one, the one of median throughput among those that agree with the majority about the goal. Without a final
 * the one that the search chose.
 */
export function representative(
  state: StudyState,
  trial: Trial,
): { measurement: Measurement; feasible: boolean } | null {
  const side = state.gain ? sideOf(trialIn(state.compared.trials, trial), finalStateOf(state)) : null;
  if (!side || side.readings.length === 0) {
    const chosen = trial.chosen === null ? undefined : trial.measurements[trial.chosen];
    return chosen ? { measurement: chosen, feasible: trial.feasible } : null;
  }
  const finals = state.finals.filter((final) => final.trial === trial.number && !final.measurement.client.bound);
  const all = [...finals.map(({ measurement }) => measurement), ...trial.measurements];
  const level = nearestBelow(
    side,
    all.map((measurement) => measurement.level.value),
  );
  const own = finals.map(({ measurement }) => measurement).filter((measurement) => measurement.level.value === level);
  const readings = own.length > 0 ? own : all.filter((measurement) => measurement.level.value === level);
  const met = readings.filter((each) => isFeasible(state.speeds.comparable(each), trial.candidate, state.goal));
  const feasible = side.curve ? side.holds && side.curve.chance(level) >= LIKELY : met.length * 2 > readings.length;
  const agreeing = feasible && met.length > 0 ? met : readings;
  const byThroughput = [...agreeing].sort((a, b) => a.throughput.value - b.throughput.value);
  return { measurement: byThroughput[(byThroughput.length - 1) >> 1] as Measurement, feasible };
}

const trialIn = (trials: readonly Trial[], { number }: Trial): Trial | null =>
  trials.find((each) => each.number === number) ?? null;

/** A measured level this little above the recommended one is as good. */
const ABOUT = 1.03;

/** Of the levels that were measured, the highest that is not above the side's; where all are, the lowest. */
function nearestBelow({ level, readings }: Side, measured: readonly number[]): number {
  const last = readings.at(-1)?.measurement.level.value ?? level;
  const below = measured.filter((each) => each <= ABOUT * level);
  return below.length > 0 ? Math.max(...below) : Math.min(last, ...measured);
}

/** The reading that it stands for is held for luck by the sampler, and was not taken again in the final. */
export const isInDoubt = ({ doubted, finals }: StudyState, trial: Trial): boolean =>
  isDoubted(trial, doubted) && !finals.some((final) => final.trial === trial.number);
