import { findClientBatch } from '#perfmodel/client-batch.ts';
import { largestRequest } from '#perfmodel/modelled-config.ts';
import type { Measurement } from '#profiler/measurement.ts';
import type { Candidate } from '#space/types.ts';
import {
  assess,
  followsFromThroughput,
  goalOfLevels,
  isByThroughput,
  isFeasible,
  listConstraints,
} from './goal/goal.ts';
import { type LevelCurve, levelCurve } from './level-curve.ts';
import type { LevelLine } from './level-line.ts';
import type { Goal, LevelRange } from './types.ts';

/** The load levels of one config. */
export interface Levels {
  /**
   * null if the goal is not throughput within a latency budget, and without readings; then single
   * readings decide.
   */
  readonly curve: LevelCurve | null;
  /**
   * The level to recommend: by the curve (`LevelCurve.recommended`), or by the readings alone the
   * best that most of them met; null for none.
   */
  readonly recommended: number | null;
}

/**
 * Finds the level to recommend for one config. `readings`: all of it, at the study's usual speed,
 * each at its position on the line.
 */
export function chooseLevels(
  readings: readonly Measurement[],
  candidate: Candidate,
  requestedGoal: Goal,
  range: LevelRange,
  varies: LevelLine['varies'] = 'level',
): Levels {
  const goal = goalOfLevels(requestedGoal);
  const isBatch = varies === 'batch';
  const within = isBatch ? { ...range, high: Math.min(range.high, largestRequest(candidate.shape)) } : range;
  const wholeBatch = isBatch ? 1 : findWholeBatch(readings, candidate);
  const curve =
    hasCurve(goal, requestedGoal, range) && goal.budget
      ? levelCurve(inOrder(readings, candidate, goal), goal.budget, within, wholeBatch)
      : null;
  return { curve, recommended: curve ? (curve.recommended?.level ?? null) : bestMet(readings, candidate, goal) };
}

/**
 * True if one limit decides the level: throughput and latency both grow with the load. A cost at
 * request rates has steps at the measured rates, and a rate between them is worth no more.
 */
const hasCurve = (goal: Goal, requestedGoal: Goal, { mode }: LevelRange): boolean =>
  goal.budget !== null && isByThroughput(goal) && !(mode === 'request-rate' && followsFromThroughput(requestedGoal));

/** Returns the requests that fill one batch; 1 without dynamic batching. */
function findWholeBatch(readings: readonly Measurement[], { shape: { policy } }: Candidate): number {
  const [first] = readings;
  const samples = first ? findClientBatch(first) : 1;
  return policy.dynamicBatching ? Math.max(1, Math.floor(policy.maxBatchSize / samples)) : 1;
}

/**
 * Returns the readings that meet all constraints except the latency budget: a level that misses
 * another constraint gains nothing from its latency.
 */
function inOrder(readings: readonly Measurement[], candidate: Candidate, goal: Goal): readonly Measurement[] {
  const others: Goal = { ...goal, budget: null };
  if (listConstraints(others).length === 0) return readings;
  return readings.filter((reading) => isFeasible(reading, candidate, others));
}

/**
 * Returns the level with the lowest median cost among those at which most readings met the goal;
 * null for none.
 */
function bestMet(readings: readonly Measurement[], candidate: Candidate, goal: Goal): number | null {
  const levels = Map.groupBy(
    readings.filter(({ client }) => !client.bound),
    ({ level }) => level.value,
  );
  const met = [...levels].flatMap(([level, readings]) => {
    const costs = readings
      .filter((each) => isFeasible(each, candidate, goal))
      .map((each) => assess(each, candidate, goal).cost);
    if (costs.length * 2 <= readings.length) return [];
    return [{ level, cost: costs.sort((a, b) => a - b)[(costs.length - 1) >> 1] as number }];
  });
  return met.sort((a, b) => a.cost - b.cost || a.level - b.level)[0]?.level ?? null;
}
