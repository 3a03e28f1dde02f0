import { TrituneError } from '#base/errors.ts';
import type { RequestLimits } from '#queueing/continuous/request-limits.ts';
import type { RequestSet } from './types.ts';

/** The requests of one class, and its share of all requests. */
export interface ClassRequests {
  readonly name: string;
  readonly limits?: RequestLimits | undefined;
  readonly set: RequestSet;
  /** Relative to the other classes, such as the number of its requests in a pass of a plan. */
  readonly share: number;
}

/**
 * Returns the requests of all classes as one set; the classes must use the same model. Errors:
 * UNSUPPORTED if they include conversations.
 */
export function classedSet(classes: readonly [ClassRequests, ...ClassRequests[]]): RequestSet {
  const [{ set: first }] = classes;
  const talking = classes.find(({ set }) => set.holdsConversations);
  if (talking) {
    throw new TrituneError(
      'UNSUPPORTED',
      `class '${talking.name}' has conversations, which cannot be mixed with other classes`,
      'give each class single prompts, or use a workload with one class',
    );
  }
  const shares = classes.reduce((sum, { share }) => sum + share, 0);
  const mean = (of: (set: RequestSet) => number): number =>
    shares > 0
      ? classes.reduce((sum, { set, share }) => sum + share * of(set), 0) / shares
      : classes.reduce((sum, { set }) => sum + of(set), 0) / classes.length;
  const isAlike = classes.every(({ set }) => set.batch === first.batch);
  return {
    model: first.model,
    version: first.version,
    batch: isAlike ? first.batch : mean(({ batch }) => batch),
    requests: classes.flatMap(({ set }) => set.requests),
    classes: classes.map(({ name, limits, set }) => ({
      name,
      requests: set.requests.length,
      ...(limits && { limits }),
    })),
    ...(first.isRescheduled && { isRescheduled: true }),
  };
}
