import { sideOf } from '../final/sides.ts';
import { finalStateOf, representative } from '../final.ts';
import type { StudyState } from '../state.ts';
import type { Trial } from '../types.ts';
import { RECOMMENDED_CHANCE, SAFE_CHANCE } from './chances.ts';
import type { LevelCurve } from './curve.ts';

/** What is known of the budget at one config's levels, on the machine at its usual speed. */
export interface Recommendation {
  /** The highest level that keeps the budget with a chance of 90 %; null where none does. */
  readonly level: number | null;
  /** The chance that the config keeps the budget at the level that is reported, 0 to 1. */
  readonly chance: number;
  /** The highest level that keeps the budget with a chance of 99 %; null where none does. */
  readonly safeLevel: number | null;
  /** How far the percentile that is expected at the reported level lies below the budget, as a share of it; below 0 where it is above. */
  readonly margin: number;
}

/** Reads the curve. `reported`: the level whose figures are reported. */
export function recommendationAt(reported: number, curve: LevelCurve, budgetMs: number): Recommendation {
  return {
    level: curve.highest(RECOMMENDED_CHANCE),
    chance: curve.chance(reported),
    safeLevel: curve.highest(SAFE_CHANCE),
    margin: 1 - Math.exp(curve.latency(reported).mean) / budgetMs,
  };
}

/**
 * Returns what is known of a trial's levels by all its readings, of the search and of the final. null where the goal has no curve (no
 * latency budget, or another objective than throughput), and where nothing was read.
 */
export function recommendationOf(state: StudyState, trial: Trial): Recommendation | null {
  const { budget } = state.goal;
  const compared = state.compared.trials.find(({ number }) => number === trial.number) ?? null;
  const curve = sideOf(compared, finalStateOf(state))?.curve;
  const stands = representative(state, trial)?.measurement;
  return budget && curve && stands ? recommendationAt(stands.level.value, curve, budget.latencyMs) : null;
}
