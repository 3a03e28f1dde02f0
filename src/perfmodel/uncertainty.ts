import { executionNs, type ServiceLaw } from '#queueing/service-law.ts';
import { fillingBeyond } from './filling.ts';
import type { ExecutionPoint } from './interference.ts';
import { WHOLE, type WithoutParts } from './parts.ts';

/**
 * The standard deviation between two measured batch sizes, and beyond the largest, as a share of
 * the log ratio of their times.
 */
const SHARE_BETWEEN = 0.1;
const SHARE_BEYOND = 0.15;
/** Batch sizes with a lower ratio than this count as the same. */
const ALIKE = 1.07;
/** The least weight of a point that counts as measured. */
const MIN_WEIGHT = 0.2;

/**
 * Returns the standard deviation of an execution time's logarithm at an unmeasured batch size. Its
 * time lies between those of its neighbours, and the uncertainty grows with their distance. Beyond
 * the largest, the device may fill up. The uncertainty of interference is separate
 * (interference.ts). `points` have all settings, `law` is without the filling.
 */
export function batchSizeUncertainty(
  batchSize: number,
  points: readonly ExecutionPoint[],
  law: ServiceLaw,
  without: WithoutParts = WHOLE,
): number {
  const sizes = listSizes(points);
  const below = sizes.findLast((size) => size <= batchSize * ALIKE);
  const above = sizes.find((size) => size * ALIKE >= batchSize);
  if (below === undefined || below * ALIKE >= batchSize || (above ?? Number.POSITIVE_INFINITY) <= batchSize * ALIKE)
    return 0;
  const growth = (from: number, to: number): number =>
    Math.max(0, Math.log(executionNs(law, to, 1) / executionNs(law, from, 1)));
  if (above !== undefined) return SHARE_BETWEEN * Math.sqrt(growth(below, batchSize) * growth(batchSize, above));
  const filling = without.has('filling') ? 0 : fillingBeyond(batchSize, below, law).sd;
  return Math.hypot(SHARE_BEYOND * growth(below, batchSize), filling);
}

/** Returns the largest measured batch size. */
export const largestMeasured = (points: readonly ExecutionPoint[]): number => listSizes(points).at(-1) ?? 1;

const known = new WeakMap<readonly ExecutionPoint[], readonly number[]>();

/** Returns the measured batch sizes, rising. */
function listSizes(points: readonly ExecutionPoint[]): readonly number[] {
  const seen = points.filter(({ weight }) => weight >= MIN_WEIGHT).map(({ batchSize }) => batchSize);
  const sizes = known.get(points) ?? [...new Set(seen)].sort((a, b) => a - b);
  known.set(points, sizes);
  return sizes;
}
