import { asTrituneError } from '../../base/errors.ts';
import { PERMANENT } from '../workflow/permanent.ts';
import type { WorkerPackages } from './packages.ts';

type Activities = Readonly<Record<string, (...given: never[]) => Promise<unknown>>>;

/** Returns the activities, whose errors keep their code and hint on the way to the workflow; those that no retry changes are not retried. */
export function withFailures<A extends object>(activities: A, { common }: Pick<WorkerPackages, 'common'>): A {
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
          nonRetryable: PERMANENT.has(code),
        });
      }
    },
  ]);
  return Object.fromEntries(wrapped) as A;
}
