import type { Trial } from '../../types.ts';

/**
 * Memoizes a function of the history by identity and length of its list of trials. Samplers call it
 * for every candidate of a space, so that a history of thousands of trials is read only once.
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
