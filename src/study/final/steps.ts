import { median } from 'simple-statistics';
import type { LoadLevel } from '../../loadgen/types.ts';
import type { Measurement } from '../../profiler/measurement.ts';
import { assess, isFeasible, missingMetrics } from '../goal.ts';
import type { Goal, Trial } from '../types.ts';
import {
  misses,
  roundedDown,
  type Side,
  servedCost,
  startAnew,
  TO_BE_SAFE,
  tightnessOf,
  usualTightness,
} from './sides.ts';

/** How often one side may go to a lower level because the one before does not hold. */
const MAX_STEPS_DOWN = 4;
/** One disturbed round shall not decide how far: it goes down again in the next. */
const LOWEST_STEP = 0.7;
/** How often it may go to a higher one, and what that must promise, as a logarithm. */
const MAX_STEPS_UP = 2;
const WORTH_A_STEP = 0.05;

/** Goes to a lower level; false where there is none, or it went often enough. */
export function stepDown(side: Side, goal: Goal, lowest: number): boolean {
  const lower = side.stepsDown < MAX_STEPS_DOWN ? lowerLevel(side, goal, lowest) : null;
  if (lower === null) return false;
  side.stepsDown++;
  goTo(side, lower);
  return true;
}

/** Goes to a higher level, where this one leaves room for it and the search says that it serves more; false where nothing speaks for it. */
export function stepUp(side: Side, goal: Goal): boolean {
  const mayRise = side.stepsUp < MAX_STEPS_UP && misses(side, goal).length === 0;
  const higher = mayRise ? higherLevel(side, goal) : null;
  if (higher === null) return false;
  side.stepsUp++;
  goTo(side, higher);
  return true;
}

function goTo(side: Side, level: number): void {
  side.level = level;
  startAnew(side);
}

/** The search's measurement at the highest level below this one that met the goal. */
export function bestBelow(trial: Trial, level: number, goal: Goal): Measurement | undefined {
  return trial.measurements
    .filter((measurement) => measurement.level.value < level && isFeasible(measurement, trial.candidate, goal))
    .sort((a, b) => b.level.value - a.level.value)[0];
}

/**
 * The higher of two: the next lower level that met the goal in the search, and the one at which what was read says that it
 * should. In a closed loop latency grows about as the level does: what is late by a factor is too high by it; by a little more with
 * each step down, as latency did not fall with the level.
 */
function lowerLevel(side: Side, goal: Goal, lowest: number): number | null {
  const { trial, level, stepsDown } = side;
  if (!trial.feasible) return null;
  const within = level * Math.max(LOWEST_STEP, TO_BE_SAFE ** (1 + stepsDown) / tooHighBy(side, goal));
  const lower = Math.max(rounded(side, within), bestBelow(trial, level, goal)?.level.value ?? 0);
  return lower >= lowest && lower < level ? lower : null;
}

/** 1 where it is not, by all that was read nearby; constraints beside the budget, and a budget at request rates, by the rounds at this level. */
function tooHighBy(side: Side, goal: Goal): number {
  const tightness = usualTightness(side, goal);
  const others = tightness === null ? goal : { ...goal, budget: null };
  const excess = median(side.readings.map(({ measurement }) => violationOf(measurement, side.trial, others)));
  return Math.max(1 + excess, tightness ?? 1);
}

/**
 * Towards a level at which the search served more, as far as this side's own rounds leave room: what a level between the two serves is
 * taken to lie between, too.
 */
function higherLevel(side: Side, goal: Goal): number | null {
  const { trial, level, readings } = side;
  const parts = readings.map(({ measurement }) => tightnessOf(measurement, trial, goal) ?? Number.POSITIVE_INFINITY);
  const most = rounded(side, (level * TO_BE_SAFE) / median(parts));
  const served = servedCost(side, goal);
  const worth = trial.measurements
    .filter((measurement) => measurement.level.value > level && tightnessOf(measurement, trial, goal) !== null)
    .map((measurement) => {
      const to = Math.min(measurement.level.value, most);
      const part = (to - level) / (measurement.level.value - level);
      return { to, gain: part * (served - assess(measurement, trial.candidate, goal).cost) };
    })
    .filter(({ to, gain }) => to > level && gain >= WORTH_A_STEP)
    .sort((a, b) => b.gain - a.gain);
  return worth[0]?.to ?? null;
}

const rounded = ({ readings }: Side, value: number): number =>
  roundedDown(readings[0]?.measurement.level as LoadLevel, value);

function violationOf(measurement: Measurement, { candidate }: Trial, goal: Goal): number {
  const isKnown = missingMetrics(measurement, candidate, goal).length === 0;
  return isKnown ? assess(measurement, candidate, goal).violation : Number.POSITIVE_INFINITY;
}
