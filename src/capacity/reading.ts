import { MS_PER_S } from '#base/units.ts';
import type { Measurement } from '#profiler/measurement.ts';
import type { Interval } from '#stats/interval.ts';
import { DEVIATIONS_AT_95_PERCENT } from '#stats/normal.ts';
import type { RateMeasurement } from './loads.ts';
import type { PlayedArrivals } from './posterior/backlog.ts';

/**
 * The limit that requests must keep at a rate, and the percentile of requests that must keep it.
 */
export type CapacityLimit =
  | { readonly kind: 'latency'; readonly percentile: number; readonly budgetMs: number }
  /** Limits on each request. The load generator counts the good requests by them. */
  | { readonly kind: 'goodput'; readonly percentile: number; readonly limits: string };

/** A mean with its standard error. */
export interface MeanEstimate {
  readonly mean: number;
  readonly sd: number;
}

/** The result of one measurement at a request rate. */
export interface RateReading {
  /** The requested rate. */
  readonly offeredPerSecond: number;
  /**
   * The rate at which requests came. Random arrivals make it differ from the requested rate, and
   * the backlog of a queue follows the actual arrivals: that is half of a measurement's luck.
   */
  readonly perSecond: number;
  /** The number of answered requests. */
  readonly requests: number;
  /**
   * The share of them that was over the budget, missed a limit or failed, with its standard error
   * by batch means. The percentile keeps the budget if this share is at most the share above the
   * percentile. Unlike the percentile of a short time, it is right on average: late requests come
   * in rare clusters.
   */
  readonly bad: MeanEstimate;
  /** The share of due requests that were served in the same time. */
  readonly served: MeanEstimate;
  /**
   * True if the backlog grew, or more requests failed than the percentile allows. The rate is then
   * not kept, whatever the latency was so far.
   */
  readonly isUnsustained: boolean;
  /** The arrivals that were played; null if they are unknown. */
  readonly arrivals: PlayedArrivals | null;
  /** The logarithm of this host's speed relative to its usual one; null if unknown. */
  readonly logSpeed: number | null;
}

/** The context of a reading. */
export interface ReadingContext {
  readonly limit: CapacityLimit;
  /** Samples in one request. */
  readonly batch: number;
  /** The usual time of the host's fixed piece of work in microseconds; null if unknown. */
  readonly usualHostWorkUs: number | null;
}

/** A backlog grows if at least this share of the due requests is surely not served. */
const BACKLOG = 0.01;

/** The share of requests that may be bad. */
export const allowedShare = ({ percentile }: CapacityLimit): number => 1 - percentile / 100;

/** The budget of a limit on latency; null for others. */
export const toBudgetSeconds = (limit: CapacityLimit): number | null =>
  limit.kind === 'latency' ? limit.budgetMs / MS_PER_S : null;

/** Reads a measurement of an open loop that counted its bad requests. */
export function toReading(measurement: RateMeasurement, context: ReadingContext): RateReading {
  const { level, throughput, errorRate, hostWorkUs, badShare, requests } = measurement;
  const { limit, batch, usualHostWorkUs } = context;
  const served = toEstimate(throughput, level.value * batch);
  return {
    offeredPerSecond: level.value,
    perSecond: arrivedPerSecond(measurement),
    requests,
    bad: badShare && requests > 0 ? toEstimate(badShare, 1) : { mean: 1, sd: 1 },
    served,
    isUnsustained: errorRate > allowedShare(limit) || served.mean + 2 * served.sd < 1 - BACKLOG,
    arrivals: measurement.arrivals ?? null,
    logSpeed: usualHostWorkUs === null || hostWorkUs === undefined ? null : Math.log(usualHostWorkUs / hostWorkUs),
  };
}

/**
 * Returns the requests due per second, sent or dropped; the requested rate if nothing was counted.
 */
function arrivedPerSecond({ level, sendRate, failures, durationMs }: Measurement): number {
  const dropped = failures.reduce((sum, { kind, count }) => sum + (kind === 'dropped' ? count : 0), 0);
  const perSecond = sendRate + (durationMs > 0 ? (dropped / durationMs) * MS_PER_S : 0);
  return perSecond > 0 ? perSecond : level.value;
}

/** True if the reading by itself is within the limit. */
export const isKept = ({ bad, isUnsustained }: RateReading, limit: CapacityLimit): boolean =>
  !isUnsustained && bad.mean <= allowedShare(limit);

/**
 * True if readings give an estimate: there are several, and some kept the limit. Without those the
 * capacity may be anywhere below.
 */
export const isEstimate = (readings: readonly RateReading[], limit: CapacityLimit): boolean =>
  readings.length > 1 && readings.some((reading) => isKept(reading, limit));

const toEstimate = ({ value, low, high }: Interval, unit: number): MeanEstimate => ({
  mean: value / unit,
  sd: (high - low) / (2 * DEVIATIONS_AT_95_PERCENT * unit),
});
