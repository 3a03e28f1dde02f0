import { asTrituneError } from '#base/errors.ts';
import { PERMANENT } from '../workflow/permanent.ts';
import type { WorkerPackages } from './packages.ts';

/** The interval of heartbeats in milliseconds. A worker that misses a few counts as gone. */
const HEARTBEAT_MS = 5_000;

type Activities = Readonly<Record<string, (...parameters: never[]) => Promise<unknown>>>;

/**
 * Returns the activities such that their errors keep code and hint on the way to the workflow.
 * Errors with a `permanent` code are not retried.
 */
export function withFailures<A extends object>(
  activities: A,
  { common }: Pick<WorkerPackages, 'common'>,
  permanent = PERMANENT,
): A {
  const wrapped = Object.entries(activities as Activities).map(([name, run]) => [
    name,
    async (...parameters: never[]): Promise<unknown> => {
      try {
        return await run(...parameters);
      } catch (error) {
        if (error instanceof common.TemporalFailure) throw error;
        const { code, message, hint } = asTrituneError(error);
        throw common.ApplicationFailure.create({
          message,
          type: code,
          details: [hint],
          nonRetryable: permanent.has(code),
        });
      }
    },
  ]);
  return Object.fromEntries(wrapped) as A;
}

/**
 * Returns the activities with heartbeats while they run. Otherwise, a lost worker would show only
 * after an activity's whole time-out.
 */
export function withHeartbeats<A extends object>(activities: A, { activity }: Pick<WorkerPackages, 'activity'>): A {
  const wrapped = Object.entries(activities as Activities).map(([name, run]) => [
    name,
    async (...parameters: never[]): Promise<unknown> => {
      const context = activity.Context.current();
      const timer = setInterval(() => context.heartbeat(), HEARTBEAT_MS);
      try {
        return await run(...parameters);
      } finally {
        clearInterval(timer);
      }
    },
  ]);
  return Object.fromEntries(wrapped) as A;
}
