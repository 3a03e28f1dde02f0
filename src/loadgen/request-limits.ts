import type { RequestLimits } from '#queueing/continuous/request-limits.ts';

/** The times of one request that have limits, in nanoseconds. */
export type LimitedTimes = Required<RequestLimits>;

/** True if a streamed reply meets every limit. */
export const isWithin = (seen: LimitedTimes, { ttftNs, itlNs, tpotNs, e2eNs }: RequestLimits): boolean =>
  (ttftNs === undefined || seen.ttftNs <= ttftNs) &&
  (itlNs === undefined || seen.itlNs <= itlNs) &&
  (tpotNs === undefined || seen.tpotNs <= tpotNs) &&
  (e2eNs === undefined || seen.e2eNs <= e2eNs);

/**
 * True if a request whose reply arrives as a whole meets the limits; only its end can be checked.
 */
export const endsWithin = (endToEndNs: number, { e2eNs }: RequestLimits): boolean =>
  e2eNs === undefined || endToEndNs <= e2eNs;
