import type { ServiceKind } from '#app/profile/service.ts';
import { TrituneError } from '#base/errors.ts';
import type { LevelSpec } from '#spec/profile-spec.ts';

/** The options, and the user's maximum of requests in flight; undefined for no limit. */
export interface ChosenLoad<O> {
  readonly options: O;
  readonly maxInFlight: number | undefined;
}

/**
 * With a rate, a concurrency is the maximum number of requests in flight, and not a level;
 * perf_analyzer takes only one of them for a model on a Triton. Errors: USAGE.
 */
export function toLoad<O extends LevelSpec>(kind: ServiceKind, options: O): ChosenLoad<O> {
  const { concurrencyRange, ...others } = options;
  if (kind === 'triton' || !concurrencyRange || !options.requestRateRange) return { options, maxInFlight: undefined };
  const { start, end } = concurrencyRange;
  if (start !== end) {
    throw new TrituneError(
      'USAGE',
      'the limit of requests in flight is a single number',
      `write --concurrency-range ${start}`,
    );
  }
  return { options: others as O, maxInFlight: start };
}
