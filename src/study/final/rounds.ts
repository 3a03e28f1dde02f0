import type { Interval } from '../../stats/interval.ts';
import { LIKELY } from '../level/chances.ts';
import type { LevelCurve } from '../level/curve.ts';
import type { Goal } from '../types.ts';
import { entrantsOf, isClose, MOST_AT_ONCE, promiseOf, WORTH_A_LOOK } from './entrants.ts';
import { gainOf, halfWidthOf, type Pairs, pairsOf } from './pairs.ts';
import { costOf, type FinalState, measurementsOf, type Side, sideOf } from './sides.ts';

/**
 * The gain is known well enough when its 95 % interval goes no further than this to either side, as a logarithm; a large
 * gain, when it goes no further than a quarter of it, up to the second; and always, when it goes no further than that of one
 * pair of measurements as precise as was asked for.
 */
const NARROW = 0.05;
const NARROW_FOR_MUCH = 0.3;
/** The rounds that a final may take, as a multiple of those planned: where there is a gain beyond doubt, where there may be none, and while nobody holds at a level that was measured. */
const PATIENCE = { gained: 1.5, inDoubt: 2, unknown: 3 };
/** After so many rounds a finalist that is clearly slower than another is measured no more. */
const ROUNDS_TO_TELL = 2;
/**
 * The level is known when the one that was measured last serves as much as the recommended one, as a logarithm. Where throughput hardly depends on
 * the level, a lower limit has visits climb it step by step for gains that are noise.
 */
const AS_MUCH = 0.07;
/** A visit has this many measurements at most, each at the level that is to be recommended by what is known then. */
const MOST_PER_VISIT = 3;
/** So many visits of a side begin above the level that is to be recommended. */
const LOOKED_AHEAD = 2;

/** The final as it stands, by all that was measured so far. */
export interface Rounds {
  /** Those that may still win, in the order of the search: its best first. */
  readonly finalists: readonly Side[];
  /** All that were measured in the final, those that are out too. */
  readonly played: readonly Side[];
  readonly baseline: Side;
  /** Trials that come in where the others do not hold. */
  readonly waiting: readonly Side[];
  readonly round: number;
  /** Those of this round that are still to be measured, the next first. */
  readonly turns: readonly Side[];
  /** The next one's visit has begun. */
  readonly isVisiting: boolean;
  /** Nothing of this round was measured yet. */
  readonly isFresh: boolean;
  readonly isOver: boolean;
}

/** Returns how the final stands after what was measured; null without two sides. `isHurried`: visits are one measurement each. */
export function roundsOf(state: FinalState, planned: number, isHurried = false): Rounds | null {
  const baseline = sideOf(state.baseline, state);
  if (!baseline) return null;
  const { sides, close } = entrantsOf(state, baseline);
  if (sides.length === 0) return null;
  const last = state.finals.at(-1);
  const played = sides.filter(({ trial }) => state.finals.some((final) => final.trial === trial.number));
  const others = sides.filter((side) => !played.includes(side));
  if (!last) return opening(baseline, sides.slice(0, close), sides.slice(close));
  const all = [baseline, ...sides];
  const served = all.find(({ trial }) => trial.number === last.trial);
  const again = served && !isHurried && goesOn(served, played, state) ? [served] : [];
  const rest = (last.rest ?? []).flatMap((number) => all.find(({ trial }) => trial.number === number) ?? []);
  const turns = [...again, ...rest];
  const isOpen = turns.length > 0;
  const left = isOpen ? played : played.filter((side) => !isOut(side, played, state.goal));
  const next = isOpen ? undefined : others.find((side) => isNeeded(side, left, state.goal));
  const finalists = next ? [...left, next] : left;
  const waiting = others.filter((side) => side !== next);
  const isOver = !isOpen && !next && isDecided(finalists, baseline, last.round, planned, state.goal);
  const round = isOpen ? last.round : last.round + 1;
  return {
    ...{ finalists, played, baseline, waiting, round, isOver },
    turns: isOpen ? turns : inOrder([baseline, ...finalists], round),
    isVisiting: again.length > 0,
    isFresh: !isOpen,
  };
}

const opening = (baseline: Side, finalists: readonly Side[], waiting: readonly Side[]): Rounds => ({
  ...{ finalists, baseline, waiting, played: [], round: 1, isVisiting: false, isFresh: true, isOver: false },
  turns: inOrder([baseline, ...finalists], 1),
});

/** There and back: O A B, B A O. A machine that drifts favours none, and whoever ends a round is still served when the next begins. */
const inOrder = (sides: readonly Side[], round: number): readonly Side[] =>
  round % 2 === 1 ? sides : sides.toReversed();

/**
 * The level to measure the side at next. Its first visits begin at the level that may just keep the budget, where much throughput hangs on where
 * that is: to look there tells most of it. Later ones do not, or each would look a little higher than the one before.
 */
export function levelOfVisit({ curve, level, readings }: Side, isVisiting: boolean): number {
  const likely = curve?.highest(LIKELY) ?? null;
  if (!curve || likely === null || isVisiting || readings.length >= LOOKED_AHEAD) return level;
  return servesAlike(curve, likely, level) ? level : likely;
}

/**
 * The visit goes on while what was measured last is not at the level that is now to be recommended, and while that level may still matter:
 * not once another finalist serves more at a level that is known.
 */
function goesOn(side: Side, played: readonly Side[], state: FinalState): boolean {
  const { trial, curve, level, holds } = side;
  const last = state.finals.at(-1);
  const made = state.finals.filter(({ round, trial: of }) => round === last?.round && of === trial.number).length;
  if (!last || !curve || made >= MOST_PER_VISIT) return false;
  if (!holds || servesAlike(curve, last.measurement.level.value, level)) return false;
  const isFinalist = played.includes(side);
  return !isFinalist || !played.some((other) => other !== side && isBeatenBy(side, other, state));
}

/** By all that was read of both: the other holds at a level that is known, and to look again at this one promises too little. */
const isBeatenBy = (side: Side, other: Side, state: FinalState): boolean =>
  other.holds && isLevelKnown(other) && !isClose(side, other, state);

const servesAlike = (curve: LevelCurve, one: number, other: number): boolean =>
  Math.abs(curve.throughput(one).mean - curve.throughput(other).mean) <= AS_MUCH;

/** It holds at no level; or another leaves it behind. */
function isOut(side: Side, played: readonly Side[], goal: Goal): boolean {
  if (!side.holds) return true;
  return played.some((other) => {
    const pairs = pairsOf(other, side);
    return other !== side && other.holds && pairs.length >= ROUNDS_TO_TELL && leaves(pairs, other, side, goal);
  });
}

/** The first leaves the second behind: beyond doubt, or so far that to look again promises too little. */
function leaves(pairs: Pairs, first: Side, second: Side, goal: Goal): boolean {
  const lead = gainOf(pairs, first, second, goal);
  if (lead === null) return false;
  if (lead.low > 1) return true;
  const halfWidth = halfWidthOf(pairs, goal) / Math.sqrt(pairs.length);
  return lead.value > 1 && promiseOf(Math.log(lead.value), halfWidth) < WORTH_A_LOOK;
}

/** Another trial comes in where fewer than two are left, and it may be better than the one that is: always where none holds. */
function isNeeded(side: Side, left: readonly Side[], goal: Goal): boolean {
  const holding = left.filter(({ holds }) => holds);
  if (holding.length === 0) return left.length < MOST_AT_ONCE;
  return left.length < MOST_AT_ONCE && holding.every((each) => mayBeat(side, each, goal));
}

/** It promises more at its own level, and served more at one where it was measured: beyond that its curve is a guess. */
function mayBeat(side: Side, other: Side, goal: Goal): boolean {
  if (costOf(side, goal) >= costOf(other, goal) - WORTH_A_LOOK) return false;
  if (!side.curve || !other.curve) return true;
  const measured = measurementsOf(side).map((each) => each.level.value);
  const level = Math.max(...measured.filter((each) => each <= side.level));
  return (
    !Number.isFinite(level) || side.curve.throughput(level).mean > other.curve.throughput(level).mean + WORTH_A_LOOK
  );
}

/** Enough rounds of those that may win, and the gain of each is known well enough, or will hardly become so. */
function isDecided(left: readonly Side[], baseline: Side, round: number, planned: number, goal: Goal): boolean {
  if (left.length === 0) return true;
  const holding = left.filter(({ holds }) => holds);
  if (round >= patienceFor(holding, baseline, goal) * planned) return true;
  const isEnough = (side: Side): boolean => side.readings.length >= planned && isLevelKnown(side);
  if (!isEnough(baseline)) return false;
  return holding.some((side) => isEnough(side) && isGainKnown(side, baseline, goal)) && left.every(isEnough);
}

function isLevelKnown({ curve, level, readings }: Side): boolean {
  const last = readings.at(-1)?.measurement.level.value;
  return last !== undefined && (!curve || servesAlike(curve, last, level));
}

function patienceFor(holding: readonly Side[], baseline: Side, goal: Goal): number {
  if (!holding.some(isLevelKnown)) return PATIENCE.unknown;
  const gains = holding.map((side) => gainOf(pairsOf(side, baseline), side, baseline, goal));
  return gains.some((gain) => gain === null || gain.low > 1) ? PATIENCE.gained : PATIENCE.inDoubt;
}

function isGainKnown(side: Side, baseline: Side, goal: Goal): boolean {
  const pairs = pairsOf(side, baseline);
  const gain = gainOf(pairs, side, baseline, goal);
  return gain === null || isNarrow(gain, halfWidthOf(pairs, goal));
}

function isNarrow({ value, low, high }: Interval, ofOnePair: number): boolean {
  const quarter = Math.abs(Math.log(value)) / 4;
  return Math.log(high / low) / 2 <= Math.max(NARROW, Math.min(NARROW_FOR_MUCH, quarter), ofOnePair);
}
