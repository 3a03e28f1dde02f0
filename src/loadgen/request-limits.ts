import type { RequestLimits } from '../queueing/continuous/request-limits.ts';

/** The times of one request, in nanoseconds, that limits are held against. */
export type LimitedTimes = Required<RequestLimits>;

/** Tells whether a streamed reply keeps every limit. */
export const isWithin = (seen: LimitedTimes, { ttftNs, itlNs, tpotNs, e2eNs }: RequestLimits): boolean =>
  (ttftNs === undefined || seen.ttftNs <= ttftNs) &&
  (itlNs === undefined || seen.itlNs <= itlNs) &&
  (tpotNs === undefined || seen.tpotNs <= tpotNs) &&
  (e2eNs === undefined || seen.e2eNs <= e2eNs);

/** Tells the same of a request whose reply comes as a whole: only its end can be held against a limit. */
export const endsWithin = (endToEndNs: number, { e2eNs }: RequestLimits): boolean =>
  e2eNs === undefined || endToEndNs <= e2eNs;
