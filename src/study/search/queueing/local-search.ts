import type { Choice } from '#perfmodel/modelled-config.ts';
import type { ServiceModel } from '#perfmodel/service-model.ts';
import type { DeviceMetrics } from '#profiler/server-figures.ts';
import type { Goal, LevelRange } from '../../types.ts';
import { type AcquisitionContext, type AcquisitionPoint, climbingValue, pointsAt } from './acquisition.ts';
import type { NeighboursOf } from './joint-candidates.ts';
import { byBound } from './screen.ts';

/** Points from which a climb starts, each of another candidate. */
const STARTS = 2;
/** The most steps of one climb, and the most neighbours that are simulated for one step. */
const MAX_STEPS = 6;
const MAX_NEIGHBOURS = 10;
/** A step must raise the acquisition value by this factor. */
const MIN_RISE = 1.01;
/** Levels of a neighbour, relative to the point's. */
const BESIDE = [1 / Math.SQRT2, 1, Math.SQRT2];

/** The input of a local search. */
export interface LocalSearch {
  readonly listNeighbours: NeighboursOf;
  readonly isOpen: (choice: Choice) => boolean;
  readonly serviceModel: ServiceModel;
  readonly goal: Goal;
  readonly levels: LevelRange;
  readonly device?: DeviceMetrics;
}

/**
 * Returns the points together with those that climbs over the model's predictions add. From each of
 * the best points a climb changes one parameter of one model at a time, always taking the best
 * change, while the acquisition value rises.
 */
export function climbed(
  points: readonly AcquisitionPoint[],
  context: AcquisitionContext,
  best: number | null,
  search: LocalSearch,
): readonly AcquisitionPoint[] {
  const computeWorth = climbingValue(best);
  const all = [...points];
  const seen = new Set(points.map(({ choice }) => choice.key));
  for (const start of chooseStarts(points, computeWorth)) {
    let now = start;
    for (let step = 0; step < MAX_STEPS; step++) {
      const next = search.listNeighbours(now.choice).filter((each) => !seen.has(each.key) && search.isOpen(each));
      const tried = byBound(next, search.serviceModel, search.goal, search.levels, search.device).slice(
        0,
        MAX_NEIGHBOURS,
      );
      for (const each of tried) seen.add(each.key);
      const { level } = now;
      const points = tried.flatMap((each) => pointsAt(each, levelsBeside(level, context.range), context));
      all.push(...points);
      const better = highest(points, computeWorth);
      if (!better || computeWorth(better) <= MIN_RISE * computeWorth(now)) break;
      now = better;
    }
  }
  return all;
}

type WorthOf = (point: AcquisitionPoint) => number;

/** Returns the best points, each of another candidate. */
function chooseStarts(points: readonly AcquisitionPoint[], computeWorth: WorthOf): readonly AcquisitionPoint[] {
  const byChoice = [...Map.groupBy(points, ({ choice }) => choice.key).values()];
  return byChoice
    .flatMap((points) => highest(points, computeWorth) ?? [])
    .map((point) => ({ point, value: computeWorth(point) }))
    .sort((a, b) => b.value - a.value)
    .slice(0, STARTS)
    .map(({ point }) => point);
}

function highest(points: readonly AcquisitionPoint[], computeWorth: WorthOf): AcquisitionPoint | null {
  let best: { point: AcquisitionPoint; value: number } | null = null;
  for (const point of points) {
    const value = computeWorth(point);
    if (best === null || value > best.value) best = { point, value };
  }
  return best?.point ?? null;
}

const levelsBeside = (level: number, { mode, low, high }: LevelRange): number[] => {
  const levels = BESIDE.map((factor) => Math.min(high, Math.max(low, level * factor)));
  return [...new Set(levels.map((each) => (mode === 'concurrency' ? Math.round(each) : Number(each.toPrecision(3)))))];
};
