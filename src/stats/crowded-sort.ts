import { type Costs, paretoFront } from './front.ts';

/** A point with its constraint violation, 0 if all constraints are met. */
export interface ConstrainedPoint {
  readonly costs: Costs;
  readonly violation: number;
}

/** The rank of a point among others. */
export interface CrowdedRank {
  /** Index of the front, 0 for the best. */
  readonly front: number;
  /** Crowding distance on its front; Infinity at the ends of an objective. */
  readonly crowding: number;
}

/**
 * Returns the indices of the points by front. Feasible points come first: their Pareto front, the
 * front of the rest, and so on; then infeasible ones by rising violation (constrained domination:
 * Deb and others, "A fast and elitist multiobjective genetic algorithm: NSGA-II", 2002, section
 * VI). Points with a cost that is not a number form a front of their own.
 */
export function constrainedFronts(points: readonly ConstrainedPoint[]): number[][] {
  const indices = points.map((_, index) => index);
  const findViolation = (index: number): number => points[index]?.violation as number;
  const missing = indices.filter((index) => findViolation(index) > 0);
  const levels = [...new Set(missing.map(findViolation))].sort((a, b) => a - b);
  return [
    ...peeled(
      points,
      indices.filter((index) => !missing.includes(index)),
    ),
    ...levels.map((level) => missing.filter((index) => findViolation(index) === level)),
  ];
}

function peeled(points: readonly ConstrainedPoint[], indices: readonly number[]): number[][] {
  const fronts: number[][] = [];
  let left = [...indices];
  while (left.length > 0) {
    const places = paretoFront(left.map((index) => points[index]?.costs as Costs));
    const front = places.length > 0 ? places.map((place) => left[place] as number) : left;
    fronts.push(front);
    left = left.filter((index) => !front.includes(index));
  }
  return fronts;
}

/**
 * Returns the crowding distance of each point of a front: over the objectives, the gap between its
 * neighbours as a share of the front's extent (Deb and others, 2002, section III-B). Objectives
 * without an extent, or with an infinite one, do not count.
 */
export function crowdingDistances(front: readonly Costs[]): number[] {
  const distances = front.map(() => 0);
  for (let axis = 0; axis < (front[0]?.length ?? 0); axis++) {
    const at = (index: number | undefined): number => front[index as number]?.[axis] as number;
    const ordered = front.map((_, index) => index).sort((a, b) => at(a) - at(b));
    const extent = at(ordered.at(-1)) - at(ordered[0]);
    if (!(extent > 0 && extent < Number.POSITIVE_INFINITY)) continue;
    for (const [place, index] of ordered.entries()) {
      const isEnd = place === 0 || place === ordered.length - 1;
      const gap = isEnd ? Number.POSITIVE_INFINITY : (at(ordered[place + 1]) - at(ordered[place - 1])) / extent;
      distances[index] = (distances[index] as number) + gap;
    }
  }
  return distances;
}

/** Returns front and crowding distance of every point, in the order of the points. */
export function crowdedRanks(points: readonly ConstrainedPoint[]): CrowdedRank[] {
  const ranks: CrowdedRank[] = [];
  for (const [front, indices] of constrainedFronts(points).entries()) {
    const distances = crowdingDistances(indices.map((index) => points[index]?.costs as Costs));
    for (const [place, index] of indices.entries()) ranks[index] = { front, crowding: distances[place] as number };
  }
  return ranks;
}

/** Compares for sorting, the best first: by front, then by crowding distance. */
export function compareCrowded(a: CrowdedRank, b: CrowdedRank): number {
  if (a.front !== b.front) return a.front - b.front;
  return a.crowding === b.crowding ? 0 : b.crowding > a.crowding ? 1 : -1;
}
