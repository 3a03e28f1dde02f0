import { lineIn, representative, toFinalState } from './final/final.ts';
import { toSide } from './final/sides.ts';
import { RECOMMENDED_CHANCE, SAFE_CHANCE } from './level-chances.ts';
import type { LevelCurve } from './level-curve.ts';
import type { StudyState } from './records/state.ts';
import type { Recommendation } from './summary/point-schema.ts';
import type { Trial } from './types.ts';

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
export function recommend(state: StudyState, trial: Trial): Recommendation | null {
  const { budget } = state.goal;
  const final = toFinalState(state);
  const compared = final.trials.find(({ number }) => number === trial.number) ?? null;
  const curve = toSide(compared, final)?.curve;
  const stands = representative(state, trial)?.measurement;
  if (!budget || !curve || !stands) return null;
  const level = lineIn(state, trial.number)?.toPosition(stands.level) ?? stands.level.value;
  const { value: latencyMs } = state.speeds.comparable(stands).budgetLatencyMs;
  const recommendation = recommendationAt({ level, latencyMs }, curve, budget.latencyMs);
  return final.varies === 'batch' ? { ...recommendation, of: 'batch' } : recommendation;
}
