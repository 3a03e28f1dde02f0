import { type Interval, timesInterval } from '#stats/interval.ts';
import { type RobustRule, robustFigure } from '#workload/robust-rule.ts';
import type { LatencySummary } from '../figure-schemas.ts';

/** A part with its weight. */
interface Weighted<T> {
  readonly weight: number;
  readonly of: T;
}

/**
 * Returns one estimate for all workloads. A rule of order applies to each end of the interval
 * separately. With the mean, the distances of the ends from their values add in quadrature, as for
 * independent estimates. Ignores figures that do not exist.
 */
export function robustInterval(
  rule: RobustRule,
  better: 'higher' | 'lower',
  all: readonly Weighted<Interval>[],
): Interval {
  const parts = all.filter(({ of }) => Number.isFinite(of.value));
  if (parts.length === 0) return { value: Number.NaN, low: Number.NaN, high: Number.NaN };
  const robust = (end: (interval: Interval) => number): number =>
    robustFigure(
      rule,
      better,
      parts.map(({ weight, of }) => ({ weight, value: end(of) })),
    );
  const value = robust((interval) => interval.value);
  if (rule.kind !== 'mean') return { value, low: robust(({ low }) => low), high: robust(({ high }) => high) };
  const total = parts.reduce((sum, { weight }) => sum + weight, 0);
  const spread = (width: (interval: Interval) => number): number =>
    Math.hypot(...parts.map(({ weight, of }) => (weight / total) * width(of)));
  return {
    value,
    low: Math.max(0, value - spread((interval) => interval.value - interval.low)),
    high: value + spread((interval) => interval.high - interval.value),
  };
}

/** Returns one figure for all workloads, where lower is better; NaN if none exists. */
export function robustTime(rule: RobustRule, all: readonly Weighted<number>[]): number {
  const parts = all.filter(({ of }) => Number.isFinite(of));
  if (parts.length === 0) return Number.NaN;
  return robustFigure(
    rule,
    'lower',
    parts.map(({ weight, of }) => ({ weight, value: of })),
  );
}

/**
 * Returns a rate relative to what each workload asks for, times the level of the study: the rule
 * compares shares, not rates.
 */
export const robustRate = (
  rule: RobustRule,
  all: readonly (Weighted<Interval> & { readonly perLevel: number })[],
): Interval =>
  robustInterval(
    rule,
    'higher',
    all.map(({ weight, perLevel, of }) => ({ weight, of: timesInterval(of, 1 / perLevel) })),
  );

/** Returns one summary for all workloads, figure by figure. */
export function robustSummary(rule: RobustRule, all: readonly Weighted<LatencySummary>[]): LatencySummary {
  const figure = (name: keyof LatencySummary): number =>
    robustTime(
      rule,
      all.map(({ weight, of }) => ({ weight, of: of[name] })),
    );
  return {
    avg: figure('avg'),
    p50: figure('p50'),
    p90: figure('p90'),
    p95: figure('p95'),
    p99: figure('p99'),
    max: figure('max'),
    min: figure('min'),
    std: figure('std'),
  };
}
