import type { Interval } from '#stats/interval.ts';

const SECONDS_PER_HOUR = 3600;
const MILLION = 1e6;

/**
 * Returns the cost of a million of what comes at `perSecond`, such as inferences or tokens, for a
 * price per hour.
 */
export const costPerMillion = (perHour: number, perSecond: number): number =>
  (perHour / (SECONDS_PER_HOUR * perSecond)) * MILLION;

/** Returns the same with the interval of the rate: serving less costs more, so the ends swap. */
export const costsPerMillion = (perHour: number, { value, low, high }: Interval): Interval => ({
  value: costPerMillion(perHour, value),
  low: costPerMillion(perHour, high),
  high: costPerMillion(perHour, low),
});
