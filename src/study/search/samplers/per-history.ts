import type { Trial } from '../../types.ts';

/**
 * Memoizes a function of the history by identity and length of its list of trials. Samplers ask it for every candidate of a space, and
 * histories of thousands of trials are read once that way.
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
