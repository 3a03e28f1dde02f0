import { asTrituneError } from '../../base/errors.ts';
import { PERMANENT } from '../workflow/permanent.ts';
import type { WorkerPackages } from './packages.ts';

/** A worker that says nothing so long is taken to be gone after a few of these. */
const HEARTBEAT_MS = 5_000;

type Activities = Readonly<Record<string, (...given: never[]) => Promise<unknown>>>;

/** Returns the activities, whose errors keep their code and hint on the way to the workflow; those of a `permanent` code are not retried. */
export function withFailures<A extends object>(
  activities: A,
  { common }: Pick<WorkerPackages, 'common'>,
  permanent = PERMANENT,
): A {
  const wrapped = Object.entries(activities as Activities).map(([name, run]) => [
    name,
    async (...given: never[]): Promise<unknown> => {
      try {
        return await run(...given);
      } catch (error) {
        if (error instanceof common.TemporalFailure) throw error;
        const { code, message, hint } = asTrituneError(error);
        throw common.ApplicationFailure.create({
          ...{ message, type: code, details: [hint] },
          nonRetryable: permanent.has(code),
        });
      }
    },
  ]);
  return Object.fromEntries(wrapped) as A;
}

/** Returns the activities, which say that they are alive while they run: else it shows only after their whole time that a worker is gone. */
export function withHeartbeats<A extends object>(activities: A, { activity }: Pick<WorkerPackages, 'activity'>): A {
  const wrapped = Object.entries(activities as Activities).map(([name, run]) => [
    name,
    async (...given: never[]): Promise<unknown> => {
      const context = activity.Context.current();
      const timer = setInterval(() => context.heartbeat(), HEARTBEAT_MS);
      try {
        return await run(...given);
      } finally {
        clearInterval(timer);
      }
    },
  ]);
  return Object.fromEntries(wrapped) as A;
}
