import { formatFigure, plainLine } from '#base/format.ts';
import type { Measurement } from './measurement.ts';

/** A message of a server is cut to this many letters. */
const MAX_MESSAGE = 80;

/**
 * The share of failed requests, 0 to 1, and the message of the first one; null if there is none.
 */
export interface FailedRequests {
  readonly errorRate: number | null;
  readonly failure?: string | null | undefined;
}

/** If more requests failed than succeeded, the figures of the others say nothing of the model. */
export const isMostlyFailed = ({ errorRate }: FailedRequests): boolean => errorRate !== null && errorRate > 0.5;

/** Returns the failed requests of a measurement. */
export const countFailedRequests = ({ errorRate, failures }: Measurement): FailedRequests => ({
  errorRate,
  failure: failures[0]?.firstMessage,
});

/**
 * Returns the failed requests among those that were sent: what an open loop had to leave out is no
 * failure of the server.
 */
export function failedRequestsOfSent({ errorRate, failures, requests, openLoop }: Measurement): FailedRequests {
  const dropped = openLoop?.droppedSends ?? 0;
  const failed = Math.round(errorRate * (requests + dropped)) - dropped;
  return {
    errorRate: requests === 0 ? errorRate : failed / requests,
    failure: failures.find(({ kind }) => kind !== 'dropped')?.firstMessage,
  };
}

/**
 * Returns how many requests failed and why, with a backquoted message:
 * `2.5 % of requests failed (…)`; '' if none did.
 */
export function describeFailed({ errorRate, failure }: FailedRequests): string {
  if (errorRate === null || !(errorRate > 0)) return '';
  const share = errorRate >= 1 ? 'all requests failed' : `${formatFigure(100 * errorRate)} % of requests failed`;
  return failure ? `${share} (\`${plainLine(failure, MAX_MESSAGE).replaceAll('`', "'")}\`)` : share;
}

/** Returns the same with the limit if more failed than `allowed`, a share of all; null if not. */
export function describeTooManyFailed(failed: FailedRequests, allowed: number): string | null {
  if (failed.errorRate === null || !(failed.errorRate > allowed)) return null;
  return `${describeFailed(failed)}, ${allowed > 0 ? `${formatFigure(100 * allowed)} % are` : 'none is'} allowed`;
}
