import { mean, sum } from 'simple-statistics';
import type { Interval } from './interval.ts';
import { type Spread, spreadOf, spreadOfMean, spreadOfRepeats } from './spread.ts';
import { studentTProbability, studentTQuantile } from './student-t.ts';

/** By what factor a figure changed, as far as can be told. */
export interface Change {
  readonly ratio: number;
  /** Of the ratio: it is beyond either of them by chance as seldom as was asked for. */
  readonly low: number;
  readonly high: number;
  /** How sure it is that the ratio is below 1, or above it: from 0.5 to 1. */
  readonly sureness: number;
}

/** One figure: what each measurement before and each after gave, all figures in the same order. */
export interface Readings {
  readonly before: readonly Interval[];
  readonly after: readonly Interval[];
}

/** How often a bound may be passed by chance: one of a single figure's change, and one of all figures' together. */
export interface Tails {
  readonly each: number;
  readonly together: number;
}

/** What a set of like figures, measured one after the other, changed by. */
export interface Changes {
  readonly each: readonly Change[];
  /** Their geometric mean; null for fewer than three, or where one of them has no ratio. */
  readonly together: Change | null;
}

/** So many degrees of freedom are behind an interval: a few windows, some five batches each, not all independent. */
const OWN_DEGREES = 8;
/** Fewer figures than this tell nothing of each other. */
export const LEAST_TOGETHER = 3;
/** With fewer measurements than this beyond one on each side, their spread tells less than that of the figures. */
const LEAST_REPEATS = 2;

/**
 * Changes of like figures (throughput of several load levels), each with an interval that is passed on either side with
 * probability `tails` (0 to 0.5). On logarithms, where a factor is a difference and errors add up by squares.
 *
 * What a measurement cannot know is what differs from one time to another: a machine has fast and slow minutes. But where
 * figures were measured one after the other, they then disagree on the change. So the error of each is the larger of what its
 * intervals say and of how much the *other* figures disagree; leaving the figure itself out lets one that alone changed
 * stand out (the externally studentised residual). The error of all together is that of a mean of batches that may be alike:
 * of n of them n(1−ρ)/(1+ρ) count. What all figures of a side share shows only where measurements are repeated: then their
 * spread, which has everything in it, takes the place of the disagreement.
 *
 * A reading of 0 has no logarithm: one before gives no ratio, from 0 to Infinity; one after a ratio as far as its interval goes.
 */
export function changesOf(figures: readonly Readings[], tails: Tails): Changes {
  const logs = figures.map(logChange);
  const known = logs.filter((log) => log !== null);
  const repeats = repeatsOf(figures.filter((_, index) => logs[index] !== null));
  const each = logs.map((log, index) => {
    if (log === null) return withoutRatio(figures[index] as Readings);
    const others = known.filter((other) => other !== log).map(({ value }) => value);
    return changeOf(log, repeats?.each ?? spreadOf(others), tails.each);
  });
  if (known.length < Math.max(logs.length, LEAST_TOGETHER)) return { each, together: null };
  const values = known.map(({ value }) => value);
  const all = { value: mean(values), variance: sum(known.map(({ variance }) => variance)) / known.length ** 2 };
  return { each, together: changeOf(all, repeats?.together ?? spreadOfMean(values), tails.together) };
}

interface LogChange {
  readonly value: number;
  /** As far as the intervals tell. */
  readonly variance: number;
}

function logChange({ before, after }: Readings): LogChange | null {
  if (![...before, ...after].every(({ value }) => value > 0)) return null;
  const [from, to] = [meanLog(before), meanLog(after)];
  return { value: to.value - from.value, variance: from.variance + to.variance };
}

const meanLog = (intervals: readonly Interval[]): LogChange => ({
  value: mean(logsOf(intervals)),
  variance: sum(intervals.map((interval) => relativeError(interval) ** 2)) / intervals.length ** 2,
});

/** Standard error of the logarithm, from a 95 % interval; by the wider side, as intervals of percentiles are not even. */
function relativeError({ value, low, high }: Interval): number {
  const above = high > value ? Math.log(high / value) : 0;
  const below = low < value ? (low > 0 ? Math.log(value / low) : 1) : 0;
  return Math.max(above, below) / studentTQuantile(0.975, OWN_DEGREES);
}

const logsOf = (intervals: readonly Interval[]): number[] => intervals.map(({ value }) => Math.log(value));

function repeatsOf(figures: readonly Readings[]): ReturnType<typeof spreadOfRepeats> | null {
  const [first] = figures;
  if (!first || first.before.length + first.after.length - 2 < LEAST_REPEATS) return null;
  return spreadOfRepeats(figures.map(({ before, after }) => ({ before: logsOf(before), after: logsOf(after) })));
}

/** By the larger of two errors: what the intervals say, and what was seen. */
function changeOf({ value: log, variance }: LogChange, seen: Spread | null, tail: number): Change {
  const errors: Spread[] = [{ variance, degrees: OWN_DEGREES }];
  if (seen) errors.push(moderated(variance, seen));
  const halves = errors.map((error) => studentTQuantile(1 - tail, error.degrees) * Math.sqrt(error.variance));
  const sureness = errors.map((error) =>
    error.variance > 0 ? studentTProbability(Math.abs(log) / Math.sqrt(error.variance), error.degrees) : 1,
  );
  const half = Math.max(...halves);
  return {
    ratio: Math.exp(log),
    low: Math.exp(log - half),
    high: Math.exp(log + half),
    sureness: log === 0 ? 0.5 : Math.min(...sureness),
  };
}

/** One degree of freedom more, that says what was expected: few figures are alike by chance at times. */
const moderated = (expected: number, { variance, degrees }: Spread): Spread => ({
  variance: (expected + variance * degrees) / (1 + degrees),
  degrees: 1 + degrees,
});

function withoutRatio({ before, after }: Readings): Change {
  const [from, to] = [mean(before.map(({ value }) => value)), mean(after.map(({ value }) => value))];
  if (from > 0 && to === 0 && before.every(({ low }) => low > 0)) {
    const high = Math.max(...after.map((one) => one.high)) / Math.min(...before.map(({ low }) => low));
    return { ratio: 0, low: 0, high, sureness: high < 1 ? 1 : 0.5 };
  }
  return { ratio: to / from || 0, low: 0, high: Number.POSITIVE_INFINITY, sureness: 0.5 };
}
