import type { SendFailureKind } from './types.ts';

/** Failed requests of one kind, with the first message. */
export interface FailureTally<K extends string = SendFailureKind> {
  readonly kind: K;
  readonly count: number;
  readonly firstMessage: string;
}

/**
 * Returns the sum of several tallies: one entry for each kind, in the order and with the message in
 * which it came first.
 */
export function allFailures<K extends string>(
  tallies: readonly (readonly FailureTally<K>[] | undefined)[],
): readonly FailureTally<K>[] {
  const merged = new Map<K, FailureTally<K>>();
  for (const tally of tallies.flatMap((each) => each ?? [])) {
    const before = merged.get(tally.kind);
    merged.set(tally.kind, before ? { ...before, count: before.count + tally.count } : tally);
  }
  return [...merged.values()];
}
