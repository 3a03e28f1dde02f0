import type { Measurement } from '#profiler/measurement.ts';
import type { Interval } from '#stats/interval.ts';
import { relativeHalfWidth } from '#stats/precision.ts';
import { isFeasible } from '../goal/goal.ts';
import { findChosen, isDoubted } from '../goal/ranking.ts';
import { LIKELY } from '../level-chances.ts';
import { alongLine, fitLine, type LevelLine, lineThrough, trialAlong } from '../level-line.ts';
import type { StudyState } from '../records/state.ts';
import type { Goal, LevelPoint, Trial } from '../types.ts';
import { type Decision, decide, decideForBaseline, whyNoGain } from './decide.ts';
import { disturbedRound } from './disturbance.ts';
import { computeRatio } from './pairs.ts';
import { levelOfVisit, planRounds, type Rounds } from './rounds.ts';
import { type FinalState, keptClearly, type Side, toSide } from './sides.ts';

/** The next step of the final. */
export type FinalStep =
  | {
      readonly kind: 'measure';
      readonly trial: Trial;
      readonly level: LevelPoint;
      readonly round: number;
      /**
       * True if the level is not the one to recommend: a short measurement that shows which level
       * is.
       */
      readonly isLook: boolean;
      /** Trials that are still to be measured in the round. */
      readonly rest: readonly number[];
      /** True for the first measurement of a round. */
      readonly opensRound: boolean;
      /** True if the last measurement was of the same visit. */
      readonly isVisiting: boolean;
    }
  | { readonly kind: 'void'; readonly round: number; readonly slower: number }
  | { readonly kind: 'decide'; readonly decision: Decision };

/** Rounds of a final, at least; more where a level or the gain is still uncertain. */
export const FINAL_ROUNDS = 2;

/**
 * The interleaved final: the best candidate of the search, the next one if measuring it again
 * promises an improvement, and the original config, each at its own level, in alternating order: O
 * A B, B A O, … It takes `rounds` rounds at least, and up to three times as many until levels and
 * gain are known well enough. A side's level is the highest that keeps the budget with a
 * probability of 90 %, by a curve through all its readings at the study's usual speed
 * (`level/curve.ts`), and is found again before each measurement. A finalist that holds at no level
 * drops out, as does one that another certainly beats; then the next best of the search enters. A
 * round in which one side missed the goal while the original config was far slower than before is
 * void. null when there is nothing to compare, and for no rounds. `isHurried`: no time for a second
 * measurement in a visit.
 */
export function nextFinal(state: StudyState, rounds: number, isHurried = false): FinalStep | null {
  if (rounds === 0) return null;
  const final = toFinalState(state);
  const standing = planRounds(final, rounds, isHurried);
  if (!standing) return withoutFinal(final);
  const disturbed = standing.isFresh ? disturbedRound(final) : null;
  if (disturbed) return { kind: 'void', ...disturbed };
  if (standing.isOver)
    return { kind: 'decide', decision: orBySearch(decide(standing, state.goal, computeMinGain(state)), state) };
  return findVisit(standing, state);
}

/**
 * Decides for the original config where the best of the search promises too little over it; null if
 * that is the original config itself.
 */
function withoutFinal(state: FinalState): FinalStep | null {
  const [baseline, contender] = [toSide(state.baseline, state), toSide(state.contender, state)];
  if (!baseline || !contender || contender.trial.number === baseline.trial.number) return null;
  return { kind: 'decide', decision: decideForBaseline(baseline.trial, contender.trial) };
}

function findVisit({ turns, isVisiting, isFresh, round }: Rounds, state: StudyState): FinalStep | null {
  const [side, ...others] = turns;
  if (!side) return null;
  const level = levelOfVisit(side, isVisiting);
  const rest = others.map(({ trial }) => trial.number);
  return {
    kind: 'measure',
    trial: side.trial,
    level: lineIn(state, side.trial.number)?.levelAt(level) ?? { value: level },
    round,
    isLook: level !== side.level,
    rest,
    opensRound: isFresh,
    isVisiting,
  };
}

/**
 * Returns the state that the final depends on, at the study's usual speed. Where client batches
 * vary, each trial has those of its measurements that are on the line it stands on.
 */
export function toFinalState(state: StudyState): FinalState {
  const { compared, goal, started, voidRounds } = state;
  if (!started.levels.batch) return { ...compared, goal, started, voidRounds };
  const lines = new Map(compared.trials.map(({ number }) => [number, lineIn(state, number)]));
  const along = (trial: Trial): Trial => {
    const line = lines.get(trial.number);
    return line ? trialAlong(trial, line) : trial;
  };
  const trials = compared.trials.map(along);
  const unlessOriginal = (trial: Trial | null): Trial | null =>
    trial && (trials.find(({ number }) => number === trial.number) ?? along(trial));
  const { varies, range } = lineThrough({ value: started.levels.low }, started.levels);
  return {
    trials,
    baseline: unlessOriginal(compared.baseline),
    contender: unlessOriginal(compared.contender),
    goal,
    voidRounds,
    varies,
    started: { ...started, levels: range },
    finals: compared.finals.flatMap((final) => {
      const line = lines.get(final.trial);
      const measurement = line ? alongLine(final.measurement, line) : final.measurement;
      return measurement ? [{ ...final, measurement }] : [];
    }),
  };
}

/**
 * Returns the line of a trial: of its first measurement in the final, else of the level that it
 * stands for in the search.
 */
export function lineIn({ compared, started }: StudyState, number: number): LevelLine | null {
  const first = compared.finals.find(({ trial }) => trial === number);
  if (first) return lineThrough(first.measurement.level, started.levels);
  const trial = compared.trials.find((each) => each.number === number);
  return trial ? fitLine(trial, started.levels) : null;
}

/**
 * True if nothing is left to measure. False where an earlier run decided on fewer rounds because of
 * its time or a failure.
 */
export function isFinalOver(state: StudyState, rounds: number): boolean {
  const step = nextFinal(state, rounds);
  return step === null || step.kind === 'decide';
}

/**
 * Returns the decision on the rounds so far, for a final that is cut short. Before the first whole
 * round it is for the original config where the search shows no gain over it, else null. Where no
 * finalist holds, a candidate that clearly kept the goal in the search is preferred to the original
 * config.
 */
export function decideNow(state: StudyState, rounds: number): Decision | null {
  const final = toFinalState(state);
  const standing = planRounds(final, rounds);
  const { baseline, played = [], finalists = [], waiting = [] } = standing ?? {};
  if (!baseline || !played.some((side) => side.readings.some(({ round }) => hasRound(baseline.readings, round))))
    return decideBySearch(state);
  // The side that was about to enter is the best of those that did not.
  const unplayed = [...finalists.filter((side) => !played.includes(side)), ...waiting];
  const sure = unplayed.filter((side) => keptClearly(side, state.goal) && !isInDoubt(state, side.trial));
  return orBySearch(decide({ baseline, played }, state.goal, computeMinGain(state), sure), state);
}

/**
 * Returns the decision; without a gain it is for the original config where the search shows none.
 */
function orBySearch(decision: Decision, state: StudyState): Decision {
  const best = state.trials.find(({ number }) => number === decision.best);
  return (decision.gain === null && best && keptBySearch(state, best)) || decision;
}

const decideBySearch = (state: StudyState): Decision | null => state.contender && keptBySearch(state, state.contender);

/**
 * Decides for the original config where it meets the goal and the search shows no gain of the other
 * over it; else null.
 */
function keptBySearch(state: StudyState, best: Trial): Decision | null {
  const { baseline, goal } = state;
  if (!baseline?.feasible || baseline.number === best.number) return null;
  const gain = gainBySearch(best, baseline, goal);
  const reason = gain && whyNoGain(gain, computeMinGain(state), 0);
  return reason ? decideForBaseline(baseline, best, `${reason}, by the search alone`) : null;
}

/**
 * Returns the gain of one trial over another by the measurements that they stand for in the search;
 * null if there is none.
 */
function gainBySearch(trial: Trial, over: Trial, goal: Goal): Interval | null {
  const [chosen, other] = [findChosen(trial), findChosen(over)];
  return chosen && other ? computeRatio(chosen, trial.candidate, other, over.candidate, goal) : null;
}

/** Returns the smallest gain that the user wants, as a share; 0 for any. */
const computeMinGain = ({ started }: Pick<StudyState, 'started'>): number =>
  (started.spec.sampler.leastGainPercent ?? 0) / 100;

const hasRound = (readings: readonly { readonly round: number }[], round: number): boolean =>
  readings.some((reading) => reading.round === round);

/** The measurement that represents a trial, and its verdict. */
export interface Stand {
  readonly measurement: Measurement;
  /**
   * The same at the study's usual speed, by which the goal is judged; the same object where it was
   * measured at that speed.
   */
  readonly compared: Measurement;
  readonly feasible: boolean;
  /**
   * The probability, 0 to 1, by all readings of the trial, on which the verdict depends; null where
   * this measurement alone decides.
   */
  readonly chance: number | null;
}

/**
 * Returns the measurement that represents a trial in reports, and whether the goal is met. It is
 * taken from the deciding measurements of the final at the level nearest to the recommended one:
 * the median throughput, by precision, among those that agree with the verdict. Without a final it
 * is the one that the search chose.
 */
export function representative(state: StudyState, trial: Trial): Stand | null {
  const toStand = (measurement: Measurement, feasible: boolean, chance: number | null): Stand => ({
    measurement,
    feasible,
    chance,
    compared: state.speeds.comparable(measurement),
  });
  const final = state.gain ? toFinalState(state) : null;
  const side = final && toSide(trialIn(final.trials, trial), final);
  const line = lineIn(state, trial.number);
  if (!side || side.readings.length === 0) {
    const chosen = trial.chosen === null ? undefined : trial.measurements[trial.chosen];
    return chosen ? toStand(chosen, trial.feasible, null) : null;
  }
  const finals = state.finals.filter((final) => final.trial === trial.number && !final.measurement.client.bound);
  const all = [...finals.map(({ measurement }) => measurement), ...trial.measurements];
  const toPosition = ({ level: at }: Measurement): number | null => (line ? line.toPosition(at) : at.value);
  const level = nearestBelow(
    side,
    all.flatMap((measurement) => toPosition(measurement) ?? []),
  );
  const measurements = finals
    .map(({ measurement }) => measurement)
    .filter((measurement) => toPosition(measurement) === level);
  const readings =
    measurements.length > 0 ? measurements : all.filter((measurement) => toPosition(measurement) === level);
  const meets = (each: Measurement): boolean => isFeasible(state.speeds.comparable(each), trial.candidate, state.goal);
  const chance = side.curve?.chance(level) ?? null;
  const feasible =
    chance === null ? readings.filter(meets).length * 2 > readings.length : side.holds && chance >= LIKELY;
  const agreeing = readings.filter((each) => meets(each) === feasible);
  return toStand(medianByPrecision(agreeing.length > 0 ? agreeing : readings), feasible, chance);
}

/** Half-widths of throughput below this count as equally precise. */
const PRECISE = 0.05;

/**
 * Returns the measurement with the median throughput, each weighted by its precision (one over the
 * square of its interval's relative half-width): a disturbed round with an interval of ±150 % does
 * not stand for the others.
 */
export function medianByPrecision(measurements: readonly Measurement[]): Measurement {
  const weighted = measurements
    .map((measurement) => ({
      measurement,
      weight: 1 / Math.max(PRECISE, relativeHalfWidth(measurement.throughput)) ** 2,
    }))
    .sort((a, b) => a.measurement.throughput.value - b.measurement.throughput.value);
  let left = weighted.reduce((sum, { weight }) => sum + weight, 0) / 2;
  const middle = weighted.find(({ weight }) => {
    left -= weight;
    return left <= 1e-9;
  });
  return (middle ?? (weighted[0] as (typeof weighted)[number])).measurement;
}

const trialIn = (trials: readonly Trial[], { number }: Trial): Trial | null =>
  trials.find((each) => each.number === number) ?? null;

/** A measured level up to this ratio above the recommended one counts as that. */
const ABOUT = 1.03;

/** Returns the highest measured level that is not above the side's; the lowest where all are. */
function nearestBelow({ level, readings }: Side, measured: readonly number[]): number {
  const last = readings.at(-1)?.measurement.level.value ?? level;
  const below = measured.filter((each) => each <= ABOUT * level);
  return below.length > 0 ? Math.max(...below) : Math.min(last, ...measured);
}

/**
 * True if the trial's chosen reading is a suspected false-feasible one that the final did not
 * measure again.
 */
export const isInDoubt = ({ doubted, finals }: StudyState, trial: Trial): boolean =>
  isDoubted(trial, doubted) && !finals.some((final) => final.trial === trial.number);
