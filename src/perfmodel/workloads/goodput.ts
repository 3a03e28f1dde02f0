import type { Measurement } from '../../profiler/measurement.ts';
import { goodputOf } from '../../profiler/windows/class-figures.ts';
import type { Interval } from '../../stats/interval.ts';
import { chanceBelow } from '../../stats/normal.ts';

/** Goodput below this share of the throughput counts as this: a logarithm must exist, and nothing is lost below. */
const LEAST_GOOD = 0.005;

/**
 * The standard deviation of a request's times around the simulated ones, as a logarithm: a request that is simulated just within a limit keeps it half of
 * the time. Without it, requests of equal lengths would be good or bad all at once.
 */
const AROUND_LIMIT = 0.06;

/** Returns the least goodput that counts, of so much throughput. */
export const leastGoodput = (throughput: number): number => LEAST_GOOD * throughput;

/** Returns the chance that a request keeps its limits whose largest ratio of a simulated time to its limit is `ratio`. */
export const chanceWithin = (ratio: number): number => chanceBelow(-Math.log(ratio) / AROUND_LIMIT);

/** Returns a measured goodput with its interval; undefined where there were no limits. */
export function readGoodput(measurement: Pick<Measurement, 'goodput' | 'tokens' | 'throughput'>): Interval | undefined {
  const goodput = goodputOf(measurement);
  const least = leastGoodput(measurement.throughput.value);
  return (
    goodput && {
      value: Math.max(goodput.value, least),
      low: Math.max(goodput.low, least),
      high: Math.max(goodput.high, least),
    }
  );
}
