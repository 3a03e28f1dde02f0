import type { Interval } from '#stats/interval.ts';
import { LIKELY } from '../level-chances.ts';
import type { LevelCurve } from '../level-curve.ts';
import type { Goal } from '../types.ts';
import { chooseEntrants, computePromise, isClose, MAX_AT_ONCE, WORTH_A_LOOK } from './entrants.ts';
import { computeGain, computeHalfWidth, listPairs, type Pairs } from './pairs.ts';
import { computeCost, costServing, type FinalState, listMeasurements, type Side, toSide } from './sides.ts';

/**
 * Half-widths of the gain's 95 % interval, as logarithms, that end the final: up to the first
 * always; up to the second for a large gain, where it is at most a quarter of the gain; and always
 * when it is no wider than that of a single pair of sufficiently precise measurements.
 */
const NARROW = 0.05;
const NARROW_FOR_MUCH = 0.3;
/**
 * The most rounds of a final, as a multiple of those planned: with a certain gain, with an
 * uncertain one, and while no side holds at a measured level.
 */
const PATIENCE = { gained: 1.5, inDoubt: 2, unknown: 3 };
/** Rounds after which a clearly slower finalist drops out. */
const ROUNDS_TO_TELL = 2;
/**
 * The level is known when the throughput at the last measured level is within this difference of
 * logarithms of that at the recommended one. Where throughput hardly depends on the level, a lower
 * threshold makes visits climb step by step for noise.
 */
const AS_MUCH = 0.07;
/** The most measurements of a visit, each at the level recommended at that time. */
const MAX_PER_VISIT = 3;
/** Visits of a side that begin above the level to recommend. */
const LOOKED_AHEAD = 2;

/** The state of the final by all that was measured so far. */
export interface Rounds {
  /** The finalists that may still win, in the order of the search: its best first. */
  readonly finalists: readonly Side[];
  /** All sides that were measured in the final, including those that dropped out. */
  readonly played: readonly Side[];
  readonly baseline: Side;
  /** Sides that enter where the others do not hold. */
  readonly waiting: readonly Side[];
  readonly round: number;
  /** Sides that are still to be measured in this round, the next one first. */
  readonly turns: readonly Side[];
  /** True if the next side's visit has begun. */
  readonly isVisiting: boolean;
  /** True if nothing of this round was measured yet. */
  readonly isFresh: boolean;
  readonly isOver: boolean;
}

/**
 * Returns the state of the final; null without two sides. `isHurried`: a visit is one measurement.
 */
export function planRounds(state: FinalState, planned: number, isHurried = false): Rounds | null {
  const baseline = toSide(state.baseline, state);
  if (!baseline) return null;
  const { sides, close } = chooseEntrants(state, baseline);
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
    finalists,
    played,
    baseline,
    waiting,
    round,
    isOver,
    turns: isOpen ? turns : inOrder([baseline, ...finalists], round),
    isVisiting: again.length > 0,
    isFresh: !isOpen,
  };
}

const opening = (baseline: Side, finalists: readonly Side[], waiting: readonly Side[]): Rounds => ({
  finalists,
  baseline,
  waiting,
  played: [],
  round: 1,
  isVisiting: false,
  isFresh: true,
  isOver: false,
  turns: inOrder([baseline, ...finalists], 1),
});

/**
 * Alternates the order of the sides: O A B, B A O. Drift favours none, and the last side of a round
 * is still served when the next begins.
 */
const inOrder = (sides: readonly Side[], round: number): readonly Side[] =>
  round % 2 === 1 ? sides : sides.toReversed();

/**
 * Returns the level to measure the side at next. Its first visits begin at the level that may just
 * keep the budget, because throughput depends on where that is. Later visits do not, or each would
 * climb a little higher.
 */
export function levelOfVisit({ curve, level, readings }: Side, isVisiting: boolean): number {
  const likely = curve?.highest(LIKELY) ?? null;
  if (!curve || likely === null || isVisiting || readings.length >= LOOKED_AHEAD) return level;
  return servesAlike(curve, likely, level) ? level : likely;
}

/**
 * True if the visit continues: while the last measurement is not at the level to recommend, and
 * that level may still matter, because no other finalist serves more at a known level.
 */
function goesOn(side: Side, played: readonly Side[], state: FinalState): boolean {
  const { trial, curve, level, holds } = side;
  const last = state.finals.at(-1);
  const made = state.finals.filter(({ round, trial: of }) => round === last?.round && of === trial.number).length;
  if (!last || !curve || made >= MAX_PER_VISIT) return false;
  if (!holds || servesAlike(curve, last.measurement.level.value, level)) return false;
  const isFinalist = played.includes(side);
  return !isFinalist || !played.some((other) => other !== side && isBeatenBy(side, other, state));
}

/**
 * True if the other side holds at a known level and measuring this one again promises too little.
 */
const isBeatenBy = (side: Side, other: Side, state: FinalState): boolean =>
  other.holds && isLevelKnown(other) && !isClose(side, other, state);

const servesAlike = (curve: LevelCurve, one: number, other: number): boolean =>
  Math.abs(curve.throughput(one).mean - curve.throughput(other).mean) <= AS_MUCH;

/** True if a side drops out: it holds at no level, or another one leaves it behind. */
function isOut(side: Side, played: readonly Side[], goal: Goal): boolean {
  if (!side.holds) return true;
  return played.some((other) => {
    const pairs = listPairs(other, side);
    return other !== side && other.holds && pairs.length >= ROUNDS_TO_TELL && leaves(pairs, other, side, goal);
  });
}

/**
 * True if the first side is certainly better, or so much better that measuring again promises too
 * little.
 */
function leaves(pairs: Pairs, first: Side, second: Side, goal: Goal): boolean {
  const lead = computeGain(pairs, first, second, goal);
  if (lead === null) return false;
  if (lead.low > 1) return true;
  const halfWidth = computeHalfWidth(pairs, first, second, goal) / Math.sqrt(pairs.length);
  return lead.value > 1 && computePromise(Math.log(lead.value), halfWidth) < WORTH_A_LOOK;
}

/**
 * True if another side enters: fewer than two are left, and it may be better than each of them that
 * holds.
 */
function isNeeded(side: Side, left: readonly Side[], goal: Goal): boolean {
  const holding = left.filter(({ holds }) => holds);
  if (holding.length === 0) return left.length < MAX_AT_ONCE;
  return left.length < MAX_AT_ONCE && holding.every((each) => mayBeat(side, each, goal));
}

/**
 * True if a side promises more at its own level and served more at a measured one: beyond that its
 * curve is a guess.
 */
function mayBeat(side: Side, other: Side, goal: Goal): boolean {
  if (computeCost(side, goal) >= computeCost(other, goal) - WORTH_A_LOOK) return false;
  if (!side.curve || !other.curve) return true;
  const measured = listMeasurements(side).map((each) => each.level.value);
  const level = Math.max(...measured.filter((each) => each <= side.level));
  if (!Number.isFinite(level)) return true;
  const [mine, others] = [
    costServing(side, side.curve.throughput(level).mean, goal),
    costServing(other, other.curve.throughput(level).mean, goal),
  ];
  return mine < others - WORTH_A_LOOK;
}

/**
 * True if the final is decided: enough rounds, and the gain of each side is known or hardly becomes
 * so.
 */
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
  const gains = holding.map((side) => computeGain(listPairs(side, baseline), side, baseline, goal));
  return gains.some((gain) => gain === null || gain.low > 1) ? PATIENCE.gained : PATIENCE.inDoubt;
}

function isGainKnown(side: Side, baseline: Side, goal: Goal): boolean {
  const pairs = listPairs(side, baseline);
  const gain = computeGain(pairs, side, baseline, goal);
  return gain === null || isNarrow(gain, computeHalfWidth(pairs, side, baseline, goal));
}

function isNarrow({ value, low, high }: Interval, ofOnePair: number): boolean {
  const quarter = Math.abs(Math.log(value)) / 4;
  return Math.log(high / low) / 2 <= Math.max(NARROW, Math.min(NARROW_FOR_MUCH, quarter), ofOnePair);
}
