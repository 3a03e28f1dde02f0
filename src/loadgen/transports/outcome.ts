import { formatMessage } from '#base/errors.ts';
import { saysOutage } from '#triton/wire/outage.ts';
import { findTlsTrouble } from '#triton/wire/tls.ts';
import type { SendFailure, SendFailureKind, SendOutcome } from '../types.ts';

/** The shared outcome of every successful request: no object per request. */
export const SENT: SendOutcome = Object.freeze({ ok: true });

/** The outcome of requests in flight at `close()`, and of sends after it. */
export const CLOSED: SendFailure = Object.freeze({ ok: false, kind: 'reset', message: 'the transport was closed' });

export function failed(kind: SendFailureKind, message: string): SendFailure {
  return { ok: false, kind, message };
}

/** Returns the server's own verdict on a request. `status` replaces an empty message. */
export function badStatus(status: string, message: string): SendFailure {
  const failure: SendFailure = { ok: false, kind: 'status', message: message === '' ? status : message, status };
  return saysOutage(status, message) ? { ...failure, isOutage: true } : failure;
}

export function timedOut(timeoutMs: number): SendFailure {
  return failed('timeout', `no answer within ${timeoutMs} ms`);
}

/**
 * Returns the message of a socket's error. A name with several addresses fails with one error for
 * each.
 */
export function socketMessage(error: unknown): string {
  if (error instanceof AggregateError) return error.errors.map(formatMessage).join('; ');
  return findTlsTrouble(error)?.message ?? formatMessage(error);
}
