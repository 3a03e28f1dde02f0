import { clientBatchOf } from '../../perfmodel/client-batch.ts';
import type { Measurement } from '../../profiler/measurement.ts';
import type { Candidate } from '../../space/types.ts';
import { assess, constraintsOf, isFeasible } from '../goal.ts';
import type { Goal, LevelRange } from '../types.ts';
import { type LevelCurve, levelCurve } from './curve.ts';

/** What is known of one config's levels. */
export interface Levels {
  /** null where the goal is not throughput within a latency budget, or nothing was read: then the readings decide one by one. */
  readonly curve: LevelCurve | null;
  /** By the curve (`LevelCurve.recommended`); by the readings alone, the best that most of them met. null for none. */
  readonly recommended: number | null;
}

/**
 * Looks for the level to recommend of one config. `readings`: all of it, at the study's usual speed.
 */
export function levelsOf(
  readings: readonly Measurement[],
  candidate: Candidate,
  goal: Goal,
  range: LevelRange,
): Levels {
  const curve =
    hasCurve(goal) && goal.budget
      ? levelCurve(inOrder(readings, candidate, goal), goal.budget, range, wholeBatchOf(readings, candidate))
      : null;
  return { curve, recommended: curve ? (curve.recommended?.level ?? null) : bestMet(readings, candidate, goal) };
}

/** More load serves more, and makes latency longer: so one limit decides the level. */
function hasCurve({ objectives, budget }: Goal): boolean {
  return budget !== null && objectives.every(({ metric, weight }) => metric === 'throughput' && weight > 0);
}

/** Requests that fill one batch; 1 without dynamic batching. */
function wholeBatchOf(readings: readonly Measurement[], { config }: Candidate): number {
  const [first] = readings;
  const samples = first ? clientBatchOf(first) : 1;
  return config.dynamic_batching ? Math.max(1, Math.floor((config.max_batch_size ?? 1) / samples)) : 1;
}

/** Those that meet all other constraints: a level that misses one of these is no better for its latency. */
function inOrder(readings: readonly Measurement[], candidate: Candidate, goal: Goal): readonly Measurement[] {
  const others: Goal = { ...goal, budget: null };
  if (constraintsOf(others).length === 0) return readings;
  return readings.filter((reading) => isFeasible(reading, candidate, others));
}

/** Of the levels at which most readings met the goal, the one that costs least in the middle. */
function bestMet(readings: readonly Measurement[], candidate: Candidate, goal: Goal): number | null {
  const levels = Map.groupBy(
    readings.filter(({ client }) => !client.bound),
    ({ level }) => level.value,
  );
  const met = [...levels].flatMap(([level, own]) => {
    const costs = own
      .filter((each) => isFeasible(each, candidate, goal))
      .map((each) => assess(each, candidate, goal).cost);
    if (costs.length * 2 <= own.length) return [];
    return [{ level, cost: costs.sort((a, b) => a - b)[(costs.length - 1) >> 1] as number }];
  });
  return met.sort((a, b) => a.cost - b.cost || a.level - b.level)[0]?.level ?? null;
}
