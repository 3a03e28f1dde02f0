import type { Measurement } from '../profiler/measurement.ts';
import type { Candidate } from '../space/types.ts';
import type { Interval } from '../stats/interval.ts';
import { ratioInterval } from '../stats/ratio.ts';
import { assess, costHalfWidth, isFeasible, missingMetrics } from './goal.ts';
import type { GainDecided } from './records.ts';
import type { StudyState } from './state.ts';
import type { Goal, Trial } from './types.ts';

/** What the final does next. */
export type FinalStep =
  | { readonly kind: 'measure'; readonly trial: Trial; readonly level: number; readonly round: number }
  | { readonly kind: 'decide'; readonly decision: Decision };

export type Decision = Omit<GainDecided, 'type' | 'at'>;

/** How often one side may go to a lower level because the one that the search chose does not hold. */
const MAX_STEPS_DOWN = 2;

/** One side of the final: a trial, and the level that it is measured at. */
interface Side {
  readonly trial: Trial;
  level: number;
  steps: number;
}

/** The contender's measurement and the baseline's that followed it. */
type Pairs = readonly (readonly [Measurement, Measurement])[];

interface Standoff {
  readonly contender: Side;
  readonly baseline: Side;
  /** Measurements of both sides at their present levels, the contender's first. */
  pairs: Pairs;
  /** The pairs before a side went to a lower level: what there is to go by when the final is cut short after that. */
  former: Pairs;
  /** The contender's measurement that has no partner yet. */
  pending: Measurement | null;
  rounds: number;
}

/**
 * The final between the contender and the baseline: A B A B at their own levels for so many rounds, then the decision.
 * A side that misses the goal in most of its rounds, or clearly in one, is measured again at its next lower feasible level, so that what is
 * reported as within the budget is so in the final too. null when there is nothing to compare.
 */
export function nextFinal(state: StudyState, rounds: number): FinalStep | null {
  const standoff = replay(state, rounds);
  if (!standoff) return null;
  const { contender, baseline, pairs, pending } = standoff;
  if (pairs.length >= rounds) return { kind: 'decide', decision: decide(standoff, state.goal) };
  const side = pending ? baseline : contender;
  return { kind: 'measure', trial: side.trial, level: side.level, round: standoff.rounds + 1 };
}

/** The decision on the rounds so far, for a final that is cut short; null before the first whole round. */
export function decideNow(state: StudyState, rounds: number): Decision | null {
  const standoff = replay(state, rounds);
  if (!standoff) return null;
  const pairs = standoff.pairs.length > 0 ? standoff.pairs : standoff.former;
  return pairs.length > 0 ? decide({ ...standoff, pairs }, state.goal) : null;
}

/**
 * The measurement that stands for a trial in reports, and whether the goal is met: the one of median throughput among
 * its final rounds (those that agree with the majority on feasibility); the search's best below that level when the
 * rounds missed the goal; without a final the one that the search chose.
 */
export function representative(
  state: StudyState,
  trial: Trial,
): { measurement: Measurement; feasible: boolean } | null {
  const own = state.gain ? state.finals.filter((final) => final.trial === trial.number) : [];
  const level = own.at(-1)?.measurement.level.value;
  const finals = own.map((final) => final.measurement).filter((measurement) => measurement.level.value === level);
  if (finals.length > 0) {
    const met = finals.filter((measurement) => isFeasible(measurement, trial.candidate, state.goal));
    const feasible = met.length * 2 > finals.length;
    const agreeing = feasible ? met : finals;
    const below = feasible ? undefined : bestBelow(trial, level as number, state.goal);
    if (below) return { measurement: below, feasible: true };
    const byThroughput = [...agreeing].sort((a, b) => a.throughput.value - b.throughput.value);
    return { measurement: byThroughput[(byThroughput.length - 1) >> 1] as Measurement, feasible };
  }
  const chosen = trial.chosen === null ? undefined : trial.measurements[trial.chosen];
  return chosen ? { measurement: chosen, feasible: trial.feasible } : null;
}

function replay(state: StudyState, rounds: number): Standoff | null {
  const contender = sideOf(state.contender);
  const baseline = sideOf(state.baseline);
  if (!contender || !baseline || contender.trial.number === baseline.trial.number) return null;
  const standoff: Standoff = { contender, baseline, pairs: [], former: [], pending: null, rounds: 0 };
  for (const { trial, measurement } of state.finals) {
    const level = measurement.level.value;
    if (trial === contender.trial.number && level === contender.level) standoff.pending = measurement;
    else if (trial === baseline.trial.number && level === baseline.level && standoff.pending) {
      standoff.pairs = [...standoff.pairs, [standoff.pending, measurement]];
      standoff.pending = null;
      standoff.rounds++;
      stepDown(standoff, state.goal, rounds);
    }
  }
  return standoff;
}

function sideOf(trial: Trial | null): Side | null {
  const chosen = trial?.chosen == null ? undefined : trial.measurements[trial.chosen];
  return trial && chosen ? { trial, level: chosen.level.value, steps: 0 } : null;
}

function stepDown(standoff: Standoff, goal: Goal, rounds: number): void {
  let moved = false;
  for (const [index, side] of [standoff.contender, standoff.baseline].entries()) {
    const misses = standoff.pairs
      .map((pair) => pair[index] as Measurement)
      .filter((measurement) => !isFeasible(measurement, side.trial.candidate, goal));
    const isClear = misses.some((measurement) => isClearlyLate(measurement, goal));
    const lower = side.steps < MAX_STEPS_DOWN ? lowerLevel(side, goal) : null;
    if ((misses.length * 2 <= rounds && !isClear) || lower === null) continue;
    side.level = lower;
    side.steps++;
    moved = true;
  }
  if (!moved) return;
  standoff.former = standoff.pairs;
  standoff.pairs = [];
}

function lowerLevel({ trial, level }: Side, goal: Goal): number | null {
  return trial.feasible ? (bestBelow(trial, level, goal)?.level.value ?? null) : null;
}

/** The search's measurement at the highest level below this one that met the goal. */
function bestBelow(trial: Trial, level: number, goal: Goal): Measurement | undefined {
  return trial.measurements
    .filter((measurement) => measurement.level.value < level && isFeasible(measurement, trial.candidate, goal))
    .sort((a, b) => b.level.value - a.level.value)[0];
}

/** The whole interval of the budgeted percentile lies above the budget: no further round is needed to know. */
function isClearlyLate(measurement: Measurement, { budget }: Goal): boolean {
  const { percentile, low } = measurement.budgetLatencyMs;
  return budget !== null && percentile === budget.percentile && low > budget.latencyMs;
}

/** Whether that side of the pairs mostly met the goal. */
function holds(pairs: Pairs, index: 0 | 1, { trial }: Side, goal: Goal): boolean {
  return pairs.filter((pair) => isFeasible(pair[index], trial.candidate, goal)).length * 2 > pairs.length;
}

/**
 * A side stands when it met the goal in most rounds, or has a level below them that met it in the search: at that level
 * it is then reported, and a contender that stands only so is the best with no gain.
 */
function decide(
  { contender, baseline, pairs }: Pick<Standoff, 'contender' | 'baseline'> & { readonly pairs: Pairs },
  goal: Goal,
): Decision {
  const contenderHolds = holds(pairs, 0, contender, goal);
  const contenderStands = contenderHolds || standsBelow(pairs, 0, contender, goal);
  const baselineStands = holds(pairs, 1, baseline, goal) || standsBelow(pairs, 1, baseline, goal);
  if (contenderStands && !contenderHolds) return { best: contender.trial.number, gain: null };
  const gain = gainOf(pairs, contender.trial.candidate, baseline.trial.candidate, goal);
  const rejected = contenderStands === baselineStands ? gain === null || gain.high < 1 : baselineStands;
  if (!rejected) return { best: contender.trial.number, gain };
  const reason = contenderStands ? 'it was not better than the original config' : 'it missed the goal in the final';
  return {
    best: baseline.trial.number,
    gain: { value: 1, low: 1, high: 1 },
    rejected: { trial: contender.trial.number, gain, reason },
  };
}

function standsBelow(pairs: Pairs, index: 0 | 1, { trial }: Side, goal: Goal): boolean {
  const level = Math.min(...pairs.map((pair) => pair[index].level.value));
  return trial.feasible && bestBelow(trial, level, goal) !== undefined;
}

/** exp(-cost) is the throughput itself when that is the objective; null when a side served nothing. */
function gainOf(pairs: Pairs, a: Candidate, b: Candidate, goal: Goal): Interval | null {
  const usable = pairs
    .filter((pair) => missingMetrics(pair[0], a, goal).length === 0 && missingMetrics(pair[1], b, goal).length === 0)
    .map((pair) => ({
      numerator: Math.exp(-assess(pair[0], a, goal).cost),
      denominator: Math.exp(-assess(pair[1], b, goal).cost),
      relativeHalfWidth: Math.hypot(costHalfWidth(pair[0], goal), costHalfWidth(pair[1], goal)),
    }))
    .filter(({ numerator, denominator }) => numerator > 0 && denominator > 0);
  return usable.length > 0 ? ratioInterval(usable) : null;
}
