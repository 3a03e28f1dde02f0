import type { Measurement } from '#profiler/measurement.ts';
import { findGoodput } from '#profiler/windows/class-figures.ts';
import type { Interval } from '#stats/interval.ts';
import { chanceBelow } from '#stats/normal.ts';

/**
 * The least share of the throughput that goodput counts as: a logarithm must exist, and smaller
 * values make no difference.
 */
const MIN_GOOD = 0.005;

/**
 * The standard deviation of a request's times around the simulated ones, as a logarithm: a request
 * that is simulated just within a limit keeps it half of the time. Without it, requests of equal
 * lengths would all be good or all be bad.
 */
const AROUND_LIMIT = 0.06;

/** Returns the least goodput that counts at this throughput. */
export const leastGoodput = (throughput: number): number => MIN_GOOD * throughput;

/**
 * Returns the chance that a request keeps its limits. `ratio`: its largest ratio of a simulated
 * time to its limit.
 */
export const chanceWithin = (ratio: number): number => chanceBelow(-Math.log(ratio) / AROUND_LIMIT);

/** Returns a measured goodput with its interval; undefined without limits. */
export function readGoodput(measurement: Pick<Measurement, 'goodput' | 'tokens' | 'throughput'>): Interval | undefined {
  const goodput = findGoodput(measurement);
  const least = leastGoodput(measurement.throughput.value);
  return (
    goodput && {
      value: Math.max(goodput.value, least),
      low: Math.max(goodput.low, least),
      high: Math.max(goodput.high, least),
    }
  );
}
