import { ActivityFailure, ApplicationFailure, TimeoutFailure } from '@temporalio/workflow';
import type { StudyEnd } from '../study/report.ts';
import { PERMANENT } from './permanent.ts';

/** Returns the message of an activity's error, for a person. */
export function formatMessage(error: unknown): string {
  const cause = error instanceof ActivityFailure ? error.cause : error;
  if (cause instanceof TimeoutFailure)
    return cause.timeoutType === 'SCHEDULE_TO_START'
      ? 'its worker does not answer'
      : 'its worker says nothing any more';
  return cause instanceof Error ? cause.message : String(cause);
}

/** Returns an activity's error as the failure of a study. */
export function toFailure(error: unknown): NonNullable<StudyEnd['failure']> {
  const cause = findCause(error);
  const [hint] = (cause?.details ?? []) as readonly unknown[];
  return {
    code: cause?.type ?? 'SERVER_FAILED',
    message: formatMessage(error),
    hint: typeof hint === 'string' ? hint : 'look at the workers of the group, and at the history of the workflow',
  };
}

/** Returns a study's failure as the error that ends its workflow. */
export const asError = ({ code, message, hint }: NonNullable<StudyEnd['failure']>): ApplicationFailure =>
  ApplicationFailure.nonRetryable(message, code, hint);

/** True for an activity's error that no retry can fix. */
export const isPermanent = (error: unknown): boolean => PERMANENT.has(findCause(error)?.type ?? '');

/** True if no worker has begun the activity. */
export const neverBegan = (error: unknown): boolean =>
  error instanceof ActivityFailure &&
  error.cause instanceof TimeoutFailure &&
  error.cause.timeoutType === 'SCHEDULE_TO_START';

function findCause(error: unknown): ApplicationFailure | null {
  const cause = error instanceof ActivityFailure ? error.cause : error;
  return cause instanceof ApplicationFailure ? cause : null;
}
