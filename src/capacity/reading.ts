import type { Measurement } from '../profiler/measurement.ts';
import type { Interval } from '../stats/interval.ts';
import { DEVIATIONS_AT_95_PERCENT } from '../stats/normal.ts';

/** What requests must keep at a rate, and the percentile of them that must. */
export type CapacityLimit =
  | { readonly kind: 'latency'; readonly percentile: number; readonly budgetMs: number }
  /** Limits on each request, by which the load generator counts the good ones. */
  | { readonly kind: 'goodput'; readonly percentile: number; readonly limits: string };

/** A mean with its standard error. */
export interface Estimate {
  readonly mean: number;
  readonly sd: number;
}

/** What one measurement at a request rate says of the capacity. */
export interface RateReading {
  /** The rate that was asked for. */
  readonly perSecond: number;
  /**
   * The logarithm of the limited percentile over its budget: at 0 or below, the rate keeps the budget. For limits on each request, of the ratio
   * that the same share of bad requests would mean for latencies with an exponential tail.
   */
  readonly excess: Estimate;
  /** The share of the due requests that were served in the same time. */
  readonly served: Estimate;
  /** The backlog grew, or more requests failed than the percentile allows: the rate is not kept, whatever the latency was so far. */
  readonly isUnsustained: boolean;
  /** The logarithm of this host's speed relative to its usual one; null where it is not known. */
  readonly logSpeed: number | null;
}

/** What a measurement is read with. */
export interface ReadingContext {
  readonly limit: CapacityLimit;
  /** Samples in one request. */
  readonly batch: number;
  /** The usual time of the host's fixed piece of work in microseconds; null where that is not known. */
  readonly usualHostWorkUs: number | null;
}

/** No two readings are more alike than this. */
const LEAST_SD = 0.01;
/** A backlog grows where this share of the due requests is surely not served. */
const BACKLOG = 0.01;

/** Reads a measurement of an open loop. */
export function readingOf(measurement: Measurement, context: ReadingContext): RateReading {
  const { level, throughput, errorRate, hostWorkUs } = measurement;
  const { limit, batch, usualHostWorkUs } = context;
  const allowed = 1 - limit.percentile / 100;
  const served = estimateOf(throughput, level.value * batch);
  return {
    perSecond: level.value,
    excess: limit.kind === 'latency' ? latencyExcess(measurement, limit.budgetMs) : goodputExcess(measurement, allowed),
    served,
    isUnsustained: errorRate > allowed || served.mean + 2 * served.sd < 1 - BACKLOG,
    logSpeed: usualHostWorkUs === null || hostWorkUs === undefined ? null : Math.log(usualHostWorkUs / hostWorkUs),
  };
}

/** Tells whether the reading by itself is within the budget. */
export const isKept = ({ excess, isUnsustained }: Pick<RateReading, 'excess' | 'isUnsustained'>): boolean =>
  !isUnsustained && excess.mean <= 0;

function estimateOf({ value, low, high }: Interval, unit: number): Estimate {
  return { mean: value / unit, sd: Math.max((high - low) / (2 * DEVIATIONS_AT_95_PERCENT * unit), LEAST_SD / 10) };
}

function latencyExcess({ budgetLatencyMs, requests }: Measurement, budgetMs: number): Estimate {
  const { value, low, high } = budgetLatencyMs;
  if (requests === 0 || !(value > 0)) return { mean: Number.POSITIVE_INFINITY, sd: 1 };
  const half = low > 0 ? Math.log(high / low) / 2 : Math.log(high / value);
  return { mean: Math.log(value / budgetMs), sd: Math.max(half / DEVIATIONS_AT_95_PERCENT, LEAST_SD) };
}

/**
 * With an exponential tail of mean θ, a share r of requests is over the limit B where B = θ ln(1/r), and the percentile that leaves out a share
 * a is θ ln(1/a): their ratio is ln(1/a) / ln(1/r).
 */
function goodputExcess({ tokens, level, requests }: Measurement, allowed: number): Estimate {
  const goodput = tokens?.goodput;
  if (!goodput || requests === 0) return { mean: Number.POSITIVE_INFINITY, sd: 1 };
  const good = estimateOf(goodput, level.value);
  const least = 0.5 / requests;
  const bad = Math.min(Math.max(1 - good.mean, least), 1 - least);
  const sd = Math.hypot(good.sd, Math.sqrt((bad * (1 - bad)) / requests));
  return {
    mean: Math.log(Math.log(1 / allowed) / Math.log(1 / bad)),
    sd: Math.max(sd / (bad * Math.log(1 / bad)), LEAST_SD),
  };
}
