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
/** The factor on those shares if the times cannot lie on one line. */
const WITH_STEPS = 5;
/**
 * Exponents of the growth of times with the batch: up to the first, one line can explain it; from
 * the second on, there must be steps.
 */
const ON_A_LINE = 0.7;
const NOT_ON_A_LINE = 1.2;
/**
 * The fall of that exponent over batch sizes that noise explains, and the fall from which on there
 * must be steps.
 */
const FALL_ON_A_LINE = 0.15;
const FALL_NOT_ON_A_LINE = 0.45;
/** Batch sizes with a lower ratio say nothing about the growth between them, … */
const APART = 1.4;
/** … and those with a lower ratio than this count as the same. */
const ALIKE = 1.07;
/** The least weight of a point that counts as measured. */
const MIN_WEIGHT = 0.2;

/**
 * Returns the standard deviation of an execution time's logarithm at an unmeasured batch size. Its
 * time lies between those of its neighbours, and the uncertainty grows with their distance. It is
 * larger still if no line can explain the times, because they grow faster than batches, or grow
 * first and then stop: then there is a step (padding, a cliff), and there may be others. Beyond the
 * largest, the device may fill up. The uncertainty of interference is separate (interference.ts).
 * `points` have all settings, `law` is without the filling.
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
  const surely = without.has('step-uncertainty') ? 1 : 1 + (WITH_STEPS - 1) * chanceOfSteps(sizes, growth);
  if (above !== undefined)
    return SHARE_BETWEEN * surely * Math.sqrt(growth(below, batchSize) * growth(batchSize, above));
  const filling = without.has('filling') ? 0 : fillingBeyond(batchSize, below, law).sd;
  return Math.hypot(SHARE_BEYOND * surely * growth(below, batchSize), filling);
}

/** Returns the largest measured batch size. */
export const largestMeasured = (points: readonly ExecutionPoint[]): number => listSizes(points).at(-1) ?? 1;

/**
 * Returns the chance of steps by the exponents with which times grow: those of a line are at most
 * 1, and never fall from one size to a larger.
 */
function chanceOfSteps(sizes: readonly number[], growth: (from: number, to: number) => number): number {
  const powers = sizes.flatMap((size) => {
    const before = sizes.findLast((each) => each * APART <= size);
    return before === undefined ? [] : [growth(before, size) / Math.log(size / before)];
  });
  const steepest = Math.max(0, ...powers);
  const fall = Math.max(0, ...powers.map((power, index) => power - Math.min(power, ...powers.slice(index + 1))));
  const tooSteep = (steepest - ON_A_LINE) / (NOT_ON_A_LINE - ON_A_LINE);
  const flatter = (fall - FALL_ON_A_LINE) / (FALL_NOT_ON_A_LINE - FALL_ON_A_LINE);
  return Math.min(1, Math.max(0, tooSteep, flatter));
}

const known = new WeakMap<readonly ExecutionPoint[], readonly number[]>();

/** Returns the measured batch sizes, rising. */
function listSizes(points: readonly ExecutionPoint[]): readonly number[] {
  const seen = points.filter(({ weight }) => weight >= MIN_WEIGHT).map(({ batchSize }) => batchSize);
  const sizes = known.get(points) ?? [...new Set(seen)].sort((a, b) => a - b);
  known.set(points, sizes);
  return sizes;
}
