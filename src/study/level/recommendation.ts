import { finalStateOf, lineIn, representative } from '../final/final.ts';
import { sideOf } from '../final/sides.ts';
import type { StudyState } from '../records/state.ts';
import type { Trial } from '../types.ts';
import { RECOMMENDED_CHANCE, SAFE_CHANCE } from './chances.ts';
import type { LevelCurve } from './curve.ts';

/** The probabilities of one config's levels, on the machine at its usual speed. */
export interface Recommendation {
  /** What the levels below are; absent: concurrency or request rate. */
  readonly of?: 'batch';
  /** The highest level that keeps the budget with a probability of 90 %; null if none does. */
  readonly level: number | null;
  /** The probability, 0 to 1, that the config keeps the budget at the reported level. */
  readonly chance: number;
  /** The highest level that keeps the budget with a probability of 99 %; null if none does. */
  readonly safeLevel: number | null;
  /**
   * The distance below the budget of the percentile that is reported beside it, at the machine's
   * usual speed, as a share of the budget; negative above it.
   */
  readonly margin: number;
}

/**
 * Reads a recommendation from the curve. `reported`: the position whose figures are reported, and
 * its percentile in milliseconds.
 */
export function recommendationAt(
  reported: { readonly level: number; readonly latencyMs: number },
  curve: LevelCurve,
  budgetMs: number,
): Recommendation {
  return {
    level: curve.highest(RECOMMENDED_CHANCE),
    chance: curve.chance(reported.level),
    safeLevel: curve.highest(SAFE_CHANCE),
    margin: 1 - reported.latencyMs / budgetMs,
  };
}

/**
 * Returns the recommendation for a trial by all its readings, of the search and the final. null if
 * the goal has no curve (no latency budget, or another objective than throughput), and without
 * readings.
 */
export function recommendationOf(state: StudyState, trial: Trial): Recommendation | null {
  const { budget } = state.goal;
  const final = finalStateOf(state);
  const compared = final.trials.find(({ number }) => number === trial.number) ?? null;
  const curve = sideOf(compared, final)?.curve;
  const stands = representative(state, trial)?.measurement;
  if (!budget || !curve || !stands) return null;
  const level = lineIn(state, trial.number)?.positionOf(stands.level) ?? stands.level.value;
  const { value: latencyMs } = state.speeds.comparable(stands).budgetLatencyMs;
  const recommendation = recommendationAt({ level, latencyMs }, curve, budget.latencyMs);
  return final.varies === 'batch' ? { ...recommendation, of: 'batch' } : recommendation;
}
