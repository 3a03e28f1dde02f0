import type { ChangeFactor } from '#stats/change.ts';
import type { MetricReading } from './readings.ts';

/**
 * The verdict on one metric. `regression`: worse by more than the tolerance, with the required
 * confidence. `worse`: worse, but by no more than must be seen. `same`: a regression that must be
 * seen is ruled out. `unsure`: it is not. `missing`: the run does not have the metric.
 */
export type MetricVerdict = 'regression' | 'worse' | 'same' | 'unsure' | 'better' | 'missing';

/**
 * The verdict of the gate. `inconclusive`: the comparison is too imprecise to rule out a regression
 * that must be seen.
 */
export type GateVerdict = 'passed' | 'regression' | 'inconclusive';

/** Both are changes for the worse, as a share. */
export interface GateTolerances {
  /** A change up to this is accepted. */
  readonly tolerance: number;
  /** A larger change must be ruled out before a metric passes. */
  readonly mustSee: number;
}

type Better = Pick<MetricReading, 'better'>;

/** Returns the change that must be ruled out: a tolerance above `mustSee` allows as much. */
export const largeChange = ({ tolerance, mustSee }: GateTolerances): number => Math.max(tolerance, mustSee);

/**
 * Returns a ratio as the share by which the metric is worse: a rate that falls to 0.9, and a
 * latency that rises to 1.1, are 0.1 worse.
 */
const worseBy = ({ better }: Better, ratio: number): number => (better === 'higher' ? 1 - ratio : ratio - 1);

/** Returns the verdict by the interval of the change. */
export function toVerdict(metric: Better, { low, high }: ChangeFactor, limits: GateTolerances): MetricVerdict {
  const [least, most] = [worseBy(metric, low), worseBy(metric, high)].toSorted((a, b) => a - b) as [number, number];
  if (least > limits.tolerance) return 'regression';
  if (most < 0) return 'better';
  if (most > largeChange(limits)) return 'unsure';
  return least > 0 ? 'worse' : 'same';
}

/** The probability of its direction from which a large change for the worse is suspect. */
const SUSPECT_SURENESS = 0.95;

/**
 * True if the estimate of the change is itself a regression that must be seen, and is likely to be
 * one, although that is not certain.
 */
export const isSuspect = (metric: Better, { ratio, sureness }: ChangeFactor, limits: GateTolerances): boolean =>
  worseBy(metric, ratio) > largeChange(limits) && sureness >= SUSPECT_SURENESS;

/**
 * Returns the smallest regression, as a share, that a comparison with this interval finds in half
 * of all cases: the tolerance is beyond its end.
 */
export function smallestSeen({ better }: Better, { low, ratio, high }: ChangeFactor, tolerance: number): number {
  return better === 'higher' ? 1 - ((1 - tolerance) * ratio) / high : ((1 + tolerance) * ratio) / low - 1;
}

/**
 * Returns the factor by which a measurement must be longer to rule out a large change of a metric
 * that has not changed; Infinity where no length does. The width of an interval shrinks with the
 * root of the time, so the time grows with the square of the ratio of the widths.
 */
export function timesAsLong({ better }: Better, { low, ratio, high }: ChangeFactor, limits: GateTolerances): number {
  const large = largeChange(limits);
  const [half, sufficient] =
    better === 'higher' ? [Math.log(ratio / low), -Math.log(1 - large)] : [Math.log(high / ratio), Math.log(1 + large)];
  const factor = (half / sufficient) ** 2;
  return Number.isFinite(factor) ? factor : Number.POSITIVE_INFINITY;
}
