import { type Costs, paretoFront } from './front.ts';

/** A point under constraints: `violation` is 0 where all are met, else how far they are missed. */
export interface ConstrainedPoint {
  readonly costs: Costs;
  readonly violation: number;
}

/** Where a point stands among others. */
export interface CrowdedRank {
  /** 0 on the best front. */
  readonly front: number;
  /** How much room its neighbours on its front leave it; Infinity at the ends of an objective. */
  readonly crowding: number;
}

/**
 * The indices of the points, front by front. The points that meet the constraints come first: their Pareto front, the front of what is
 * left, and so on; after them those that do not, by rising violation (constrained domination: Deb and others, "A fast and elitist
 * multiobjective genetic algorithm: NSGA-II", 2002, section VI). Points with a cost that is not a number are a front of their own.
 */
export function constrainedFronts(points: readonly ConstrainedPoint[]): number[][] {
  const indices = points.map((_, index) => index);
  const violationOf = (index: number): number => points[index]?.violation as number;
  const missing = indices.filter((index) => violationOf(index) > 0);
  const levels = [...new Set(missing.map(violationOf))].sort((a, b) => a - b);
  return [
    ...peeled(
      points,
      indices.filter((index) => !missing.includes(index)),
    ),
    ...levels.map((level) => missing.filter((index) => violationOf(index) === level)),
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
 * The crowding distance of each point of a front: over the objectives, the gap between its two neighbours as a part of the front's whole
 * extent (Deb and others, 2002, section III-B). Objectives without an extent, or with an infinite one, do not count.
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

/** Front and crowding of every point, in the order of the points. */
export function crowdedRanks(points: readonly ConstrainedPoint[]): CrowdedRank[] {
  const ranks: CrowdedRank[] = [];
  for (const [front, indices] of constrainedFronts(points).entries()) {
    const distances = crowdingDistances(indices.map((index) => points[index]?.costs as Costs));
    for (const [place, index] of indices.entries()) ranks[index] = { front, crowding: distances[place] as number };
  }
  return ranks;
}

/** For sorting, the best first: by front, on one front those with more room. */
export function compareCrowded(a: CrowdedRank, b: CrowdedRank): number {
  if (a.front !== b.front) return a.front - b.front;
  return a.crowding === b.crowding ? 0 : b.crowding > a.crowding ? 1 : -1;
}
