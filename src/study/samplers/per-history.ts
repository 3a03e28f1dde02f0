import type { Trial } from '../types.ts';

/**
 * `make` of a history, worked out once however often it is asked for: samplers ask of every candidate of a space, and
 * histories of thousands of trials are looked through once that way, not once for each. A history that has grown counts as
 * another.
 */
export function perHistory<T>(make: (trials: readonly Trial[]) => T): (trials: readonly Trial[]) => T {
  const known = new WeakMap<readonly Trial[], { readonly length: number; readonly made: T }>();
  return (trials) => {
    const before = known.get(trials);
    if (before?.length === trials.length) return before.made;
    const made = make(trials);
    known.set(trials, { length: trials.length, made });
    return made;
  };
}
