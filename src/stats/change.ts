import { mean, sum } from 'simple-statistics';
import type { Interval } from './interval.ts';
import { findSpread, type Spread, spreadOfMean, spreadOfRepeats } from './spread.ts';
import { studentTProbability, studentTQuantile } from './student-t.ts';

/** The factor by which a figure changed. */
export interface ChangeFactor {
  readonly ratio: number;
  /** Bounds of the ratio: it exceeds each of them with the requested probability. */
  readonly low: number;
  readonly high: number;
  /** The confidence that the ratio is below 1, or above it: 0.5 to 1. */
  readonly sureness: number;
}

/** One figure in each measurement before and after; all figures in the same order. */
export interface Readings {
  readonly before: readonly Interval[];
  readonly after: readonly Interval[];
}

/**
 * Tail probabilities of a bound: of a single figure's change, and of the change of all figures
 * together.
 */
export interface Tails {
  readonly each: number;
  readonly together: number;
}

/** The changes of a set of like figures, measured one after the other. */
export interface Changes {
  readonly each: readonly ChangeFactor[];
  /** Their geometric mean; null for fewer than three figures, or if one has no ratio. */
  readonly together: ChangeFactor | null;
}

/**
 * Degrees of freedom behind an interval: a few windows of five batches each, not all independent.
 */
const OWN_DEGREES = 8;
/** The least number of figures for a change of all together. */
export const MIN_TOGETHER = 3;
/**
 * The largest factor by which a machine's speed changes between measurements by itself; the largest
 * seen, on shared virtual cores, is 1.6. A larger disagreement of figures is due to the server: it
 * changed more at some levels than at others.
 */
export const MAX_DRIFT = 2;
/**
 * The least number of measurements, beyond one on each side, whose spread is used instead of the
 * spread of the figures.
 */
const MIN_REPEATS = 2;

/**
 * Returns the changes of like figures (throughput at several load levels), each with an interval
 * that is exceeded on either side with probability `tails` (0 to 0.5). Computed on logarithms,
 * where a factor is a difference and errors add in quadrature.
 *
 * A measurement does not show the differences between times: a machine has fast and slow minutes.
 * Figures that were measured one after the other then disagree on the change. So the error of each
 * is the larger of its intervals' and of the disagreement of the *other* figures; leaving out the
 * figure itself lets a single change stand out (the externally studentised residual). The error of
 * all together is that of a mean of correlated batches: n of them count as n(1−ρ)/(1+ρ). An error
 * that all figures of a side share shows only in repeated measurements: then their spread, which
 * contains everything, replaces the disagreement.
 *
 * `mostDrift`: the largest factor by which a figure can be off for reasons outside its interval;
 * default no limit. A change beyond it is sure, even if the levels disagree: a new config may gain
 * much more under one load than under another.
 *
 * A reading of 0 has no logarithm. One before gives no ratio (0 to Infinity); one after gives a
 * ratio within its interval.
 */
export function toChanges(
  figures: readonly Readings[],
  tails: Tails,
  mostDrift: number = Number.POSITIVE_INFINITY,
): Changes {
  const logs = figures.map(logChange);
  const drift = Math.log(mostDrift);
  const known = logs.filter((log) => log !== null);
  const repeats = compareRepeats(figures.filter((_, index) => logs[index] !== null));
  const each = logs.map((log, index) => {
    if (log === null) return withoutRatio(figures[index] as Readings);
    const others = known.filter((other) => other !== log).map(({ value }) => value);
    return computeChange(log, repeats?.each ?? findSpread(others), tails.each, drift);
  });
  if (known.length < Math.max(logs.length, MIN_TOGETHER)) return { each, together: null };
  const values = known.map(({ value }) => value);
  const all = { value: mean(values), variance: sum(known.map(({ variance }) => variance)) / known.length ** 2 };
  return { each, together: computeChange(all, repeats?.together ?? spreadOfMean(values), tails.together, drift) };
}

interface LogChange {
  readonly value: number;
  /** By the intervals. */
  readonly variance: number;
}

function logChange({ before, after }: Readings): LogChange | null {
  if (![...before, ...after].every(({ value }) => value > 0)) return null;
  const [from, to] = [meanLog(before), meanLog(after)];
  return { value: to.value - from.value, variance: from.variance + to.variance };
}

const meanLog = (intervals: readonly Interval[]): LogChange => ({
  value: mean(takeLogs(intervals)),
  variance: sum(intervals.map((interval) => relativeError(interval) ** 2)) / intervals.length ** 2,
});

/**
 * Returns the standard error of the logarithm from a 95 % interval, by its wider side, because
 * intervals of percentiles are asymmetric.
 */
function relativeError({ value, low, high }: Interval): number {
  const above = high > value ? Math.log(high / value) : 0;
  const below = low < value ? (low > 0 ? Math.log(value / low) : 1) : 0;
  return Math.max(above, below) / studentTQuantile(0.975, OWN_DEGREES);
}

const takeLogs = (intervals: readonly Interval[]): number[] => intervals.map(({ value }) => Math.log(value));

function compareRepeats(figures: readonly Readings[]): ReturnType<typeof spreadOfRepeats> | null {
  const [first] = figures;
  if (!first || first.before.length + first.after.length - 2 < MIN_REPEATS) return null;
  return spreadOfRepeats(figures.map(({ before, after }) => ({ before: takeLogs(before), after: takeLogs(after) })));
}

/**
 * Returns a change by the larger of two errors: the intervals' and the observed one, which counts
 * up to `drift` (a logarithm) beyond the intervals'.
 */
function computeChange(
  { value: log, variance }: LogChange,
  seen: Spread | null,
  tail: number,
  drift = Number.POSITIVE_INFINITY,
): ChangeFactor {
  const spread: Spread = { variance, degrees: OWN_DEGREES };
  const observed = seen ? moderated(variance, seen) : spread;
  const computeHalf = (error: Spread): number => studentTQuantile(1 - tail, error.degrees) * Math.sqrt(error.variance);
  const half = Math.max(computeHalf(spread), Math.min(computeHalf(observed), computeHalf(spread) + drift));
  const size = Math.abs(log);
  const sureness = Math.min(
    computeSureness(size, spread),
    Math.max(computeSureness(size, observed), computeSureness(size - drift, spread)),
  );
  return {
    ratio: Math.exp(log),
    low: Math.exp(log - half),
    high: Math.exp(log + half),
    sureness: log === 0 ? 0.5 : sureness,
  };
}

/** Returns the confidence that a value observed this far from 0 is on that side of it. */
function computeSureness(size: number, { variance, degrees }: Spread): number {
  if (size <= 0) return 0.5;
  return variance > 0 ? studentTProbability(size / Math.sqrt(variance), degrees) : 1;
}

/**
 * Adds one degree of freedom with the expected variance, because few figures may agree by chance.
 */
const moderated = (expected: number, { variance, degrees }: Spread): Spread => ({
  variance: (expected + variance * degrees) / (1 + degrees),
  degrees: 1 + degrees,
});

function withoutRatio({ before, after }: Readings): ChangeFactor {
  const [from, to] = [mean(before.map(({ value }) => value)), mean(after.map(({ value }) => value))];
  if (from > 0 && to === 0 && before.every(({ low }) => low > 0)) {
    const high = Math.max(...after.map((one) => one.high)) / Math.min(...before.map(({ low }) => low));
    return { ratio: 0, low: 0, high, sureness: high < 1 ? 1 : 0.5 };
  }
  return { ratio: to / from || 0, low: 0, high: Number.POSITIVE_INFINITY, sureness: 0.5 };
}
