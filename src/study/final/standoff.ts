import type { Measurement } from '../../profiler/measurement.ts';
import type { Interval } from '../../stats/interval.ts';
import { isFeasible } from '../goal.ts';
import type { StudyState } from '../state.ts';
import type { Goal } from '../types.ts';
import { entrantsOf, MOST_AT_ONCE, promiseOf, WORTH_A_LOOK } from './entrants.ts';
import { gainOf, halfWidthOf, heldIn, type Pairs, pairsOf } from './pairs.ts';
import { hasHeld, isLate, roundsFor, type Side, servedCost, sideOf, startAnew } from './sides.ts';
import { stepDown, stepUp } from './steps.ts';

/**
 * The gain is known well enough when its 95 % interval goes no further than this to either side, as a logarithm; a large
 * gain, when it goes no further than a quarter of it, up to the second; and always, when it goes no further than that of one
 * pair of measurements as precise as was asked for.
 */
const NARROW = 0.05;
const NARROW_FOR_MUCH = 0.3;
/**
 * The rounds that a final may take for that, those at levels that were left included, as a multiple of those that it takes anyway:
 * where there is a gain beyond doubt, where there may be none, while a finalist that has not held yet would serve much more than
 * those that have, and while none has held at its level, as the original config would then be all there is to recommend.
 */
const PATIENCE = { gained: 1.5, inDoubt: 2, moreInDoubt: 3, noneHeld: 4 };
/** So much more is worth rounds of its own, as a logarithm. */
const MUCH_MORE = 0.1;
/** After so many rounds a finalist that is clearly slower than another is measured no more. */
const ROUNDS_TO_TELL = 2;

/** The final as it stands: who was measured so far, and who is next. */
export interface Standoff {
  /** No side goes to a level below this. */
  readonly lowest: number;
  /** In the order in which they came in: the best of the search first. */
  readonly finalists: Side[];
  readonly baseline: Side;
  /** Trials that come in when one of the others misses the goal. */
  readonly waiting: Side[];
  round: number;
  /** Those of this round that are still to be measured. */
  turns: readonly Side[];
  isOver: boolean;
}

/** Replays the final's measurements; those that do not fit, of another goal say, are passed over. null without two sides. */
export function replay(state: StudyState, rounds: number): Standoff | null {
  const { sides, close } = entrantsOf(state);
  const baseline = sideOf(state.baseline, state);
  if (!baseline || sides.length === 0) return null;
  const finalists = sides.slice(0, close);
  const waiting = sides.slice(close);
  const lowest = state.started.levels.low;
  const standoff: Standoff = { lowest, finalists, baseline, waiting, round: 1, turns: [], isOver: false };
  standoff.turns = turnsOf(standoff);
  for (const { trial, measurement } of state.finals) {
    if (standoff.isOver) break;
    const side = next(standoff);
    if (trial !== side.trial.number || measurement.level.value !== side.level) continue;
    take(standoff, side, measurement, state.goal, rounds);
  }
  return standoff;
}

/** The side that is measured next. */
export const next = ({ turns, baseline }: Standoff): Side => turns[0] ?? baseline;

/** The first of its round is next. */
export const opensRound = (standoff: Standoff): boolean =>
  standoff.turns.length === turnsOf(standoff).length && next(standoff).moved?.round !== standoff.round;

const active = ({ finalists }: Standoff): Side[] => finalists.filter(({ out }) => out === null);

/**
 * There and back: O A B, B A O. A machine that drifts favours none, whoever ends a round is still served when the next begins, and after
 * two rounds the original config is served, as the run must leave it.
 */
function turnsOf(standoff: Standoff): Side[] {
  const sides = [standoff.baseline, ...active(standoff)];
  return standoff.round % 2 === 1 ? sides : sides.reverse();
}

function take(standoff: Standoff, side: Side, measurement: Measurement, goal: Goal, rounds: number): void {
  side.readings = [...side.readings, { round: standoff.round, measurement }];
  // While it is served, another level takes no load; a disturbed moment shall not decide of more than one.
  if (side.moved?.round !== standoff.round && moves(side, standoff, goal, rounds)) return;
  standoff.turns = standoff.turns.slice(1);
  if (standoff.turns.length === 0) endRound(standoff, goal, rounds);
}

/** To the level that its rounds so far ask for, if that is another one. */
function moves(side: Side, { round, lowest }: Standoff, goal: Goal, rounds: number): boolean {
  if (isLate(side, goal, rounds) && stepDown(side, goal, lowest)) side.moved = { round, to: 'lower' };
  else if (stepUp(side, goal)) side.moved = { round, to: 'higher' };
  else return false;
  return true;
}

function endRound(standoff: Standoff, goal: Goal, rounds: number): void {
  const { baseline, lowest } = standoff;
  if (isLate(baseline, goal, rounds)) stepDown(baseline, goal, lowest);
  const isLower = active(standoff).some(({ moved }) => moved?.round === standoff.round && moved.to === 'lower');
  const late = active(standoff).filter((side) => isLate(side, goal, rounds));
  for (const side of late) {
    if (!stepDown(side, goal, lowest)) side.out = 'missed';
  }
  dropSlower(standoff, goal);
  // What stands lower than the search had it may be behind those that come next.
  if (active(standoff).length === 0) startAnew(baseline);
  if ((isLower || late.length > 0) && active(standoff).length < MOST_AT_ONCE) letNextIn(standoff);
  standoff.isOver = isDecided(standoff, goal, rounds);
  standoff.round++;
  standoff.turns = turnsOf(standoff);
}

/** Those that another finalist beats beyond doubt, or that are behind and not likely to be found better by much. */
function dropSlower(standoff: Standoff, goal: Goal): void {
  for (const side of active(standoff)) {
    const isBeaten = active(standoff).some((other) => {
      const pairs = pairsOf(other, side);
      return pairs.length >= ROUNDS_TO_TELL && leaves(pairs, other, side, goal);
    });
    if (isBeaten) side.out = 'slower';
  }
}

/** The first of them leaves the second behind: beyond doubt, or where it always held and to look again promises too little. */
function leaves(pairs: Pairs, first: Side, second: Side, goal: Goal): boolean {
  const lead = gainOf(pairs, first, second, goal);
  if (lead === null) return false;
  if (lead.low > 1) return true;
  const holds = pairs.every(([of]) => isFeasible(of, first.trial.candidate, goal));
  const halfWidth = halfWidthOf(pairs, goal) / Math.sqrt(pairs.length);
  return holds && lead.value > 1 && promiseOf(Math.log(lead.value), halfWidth) < WORTH_A_LOOK;
}

/** The next best of the search comes in. */
function letNextIn({ finalists, waiting }: Standoff): void {
  const side = waiting.shift();
  if (side) finalists.push(side);
}

/** Enough rounds of those that may win, and the gain of each is known well enough, or will hardly become so. */
function isDecided(standoff: Standoff, goal: Goal, rounds: number): boolean {
  const left = active(standoff);
  const held = left.filter((side) => hasHeld(side, goal, rounds));
  const isMoreInDoubt = servesMuchMore(left, held, goal);
  const patience = patienceFor(held, isMoreInDoubt, standoff, goal) * rounds;
  const known = [standoff.baseline, ...left].map((side) => knownAfter(side, rounds));
  if (left.length === 0 || standoff.round >= Math.max(patience, ...known)) return true;
  if (isMoreInDoubt) return false;
  const settled = left.filter((side) => isSettled(side, standoff, goal, rounds));
  const isBehind = (side: Side): boolean =>
    settled.some((other) => isNoBetter(pairsOf(side, other), side, other, goal));
  return settled.length > 0 && left.every((side) => settled.includes(side) || isBehind(side));
}

/** The round after which enough is known of the level that it went up to: one reading there does not stand against many elsewhere. */
const knownAfter = ({ moved }: Side, rounds: number): number => (moved?.to === 'higher' ? moved.round + rounds - 1 : 0);

/** One that kept the goal at its level, but not yet in as many rounds as it takes, against the best of those that did. */
function servesMuchMore(left: readonly Side[], held: readonly Side[], goal: Goal): boolean {
  const best = Math.min(...held.map((side) => servedCost(side, goal)));
  return held.length > 0 && left.some((side) => !held.includes(side) && servedCost(side, goal) < best - MUCH_MORE);
}

function patienceFor(held: readonly Side[], isMoreInDoubt: boolean, { baseline }: Standoff, goal: Goal): number {
  if (held.length === 0) return PATIENCE.noneHeld;
  if (isMoreInDoubt) return PATIENCE.moreInDoubt;
  const gains = held.map((side) => gainOf(pairsOf(side, baseline), side, baseline, goal));
  return gains.some((gain) => gain === null || gain.low > 1) ? PATIENCE.gained : PATIENCE.inDoubt;
}

function isSettled(side: Side, { baseline }: Standoff, goal: Goal, rounds: number): boolean {
  const pairs = pairsOf(side, baseline);
  if (pairs.length < Math.max(roundsFor(side, goal, rounds), roundsFor(baseline, goal, rounds))) return false;
  const gain = gainOf(pairs, side, baseline, goal);
  return gain === null || isNarrow(gain, halfWidthOf(pairs, goal));
}

/** One that came in later and was no better then, or missed the goal, need not play all its rounds. */
function isNoBetter(pairs: Pairs, side: Side, other: Side, goal: Goal): boolean {
  if (pairs.length === 0) return false;
  return !heldIn(pairs, 0, side, goal) || (gainOf(pairs, side, other, goal)?.value ?? 0) <= 1;
}

function isNarrow({ value, low, high }: Interval, ofOnePair: number): boolean {
  const quarter = Math.abs(Math.log(value)) / 4;
  return Math.log(high / low) / 2 <= Math.max(NARROW, Math.min(NARROW_FOR_MUCH, quarter), ofOnePair);
}
