import type { Measurement } from '../profiler/measurement.ts';
import { decide } from './final/decide.ts';
import { disturbedRound } from './final/disturbance.ts';
import { latestPairs } from './final/pairs.ts';
import { keptClearly } from './final/sides.ts';
import { next, opensRound, replay } from './final/standoff.ts';
import { bestBelow } from './final/steps.ts';
import { isFeasible } from './goal.ts';
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
      /** Measurements that the round still takes, this one included. */
      readonly left: number;
      /** It is the first of its round. */
      readonly opensRound: boolean;
    }
  | { readonly kind: 'void'; readonly round: number; readonly slower: number }
  | { readonly kind: 'decide'; readonly decision: Decision };

/** Of a usual final, at least; more where a round misses the goal or the gain is not yet known well enough. */
export const FINAL_ROUNDS = 2;

export type Decision = Omit<GainDecided, 'type' | 'at'>;

/**
 * The final: the best of the search, the next one if to measure it again promises a gain, and the original config, each at its own
 * level, in turn, there and back: O A B, B A O, … For `rounds` rounds at least, up to half as many more until the interval of a gain
 * beyond doubt is narrow, twice as many in all where there may be none, three times while one that has not held yet serves much more
 * than those that have, and four times while none has. A side that misses the goal in half of three rounds or more, or clearly in all
 * so far while what was read of it nearby says the same, goes to a lower level, so that what is reported as within the budget is so in
 * the final too; one that keeps it with room to spare goes to a higher one where the search saw it serve more; both at once, while it
 * is served. Where a side that went lower is alone, the next best of the search comes in beside it; a finalist that has no level left
 * is out, as is one that another beats beyond doubt, or by so much that to look again promises little. A round in which one missed the
 * goal and the original config was far slower than before does not count. null when there is nothing to compare, and for no rounds.
 */
export function nextFinal(state: StudyState, rounds: number): FinalStep | null {
  if (rounds === 0) return null;
  const standoff = replay(state, rounds);
  if (!standoff) return null;
  const disturbed = disturbedRound(state);
  if (disturbed) return { kind: 'void', ...disturbed };
  if (standoff.isOver) return { kind: 'decide', decision: decide(standoff, state.goal) };
  const { trial, level } = next(standoff);
  const { turns, round } = standoff;
  return { kind: 'measure', trial, level, round, left: turns.length, opensRound: opensRound(standoff) };
}

/** Nothing is left to measure. Not so where an earlier run decided on the rounds that its time, or a failure, had left it. */
export function isFinalOver(state: StudyState, rounds: number): boolean {
  const step = nextFinal(state, rounds);
  return step === null || step.kind === 'decide';
}

/**
 * The decision on the rounds so far, for a final that is cut short; null before the first whole round. Where none of those that played
 * stands, one that kept the goal clearly in the search is better advice than the original config.
 */
export function decideNow(state: StudyState, rounds: number): Decision | null {
  const standoff = replay(state, rounds);
  const isPlayed = standoff?.finalists.some((side) => latestPairs(side, standoff.baseline).length > 0);
  if (!standoff || !isPlayed) return null;
  const sure = standoff.waiting.filter((side) => keptClearly(side, state.goal) && !isInDoubt(state, side.trial));
  return decide(standoff, state.goal, sure);
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

/** The reading that it stands for is held for luck by the sampler, and was not taken again in the final. */
export const isInDoubt = ({ doubted, finals }: StudyState, trial: Trial): boolean =>
  isDoubted(trial, doubted) && !finals.some((final) => final.trial === trial.number);
