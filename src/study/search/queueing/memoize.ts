/**
 * Memoizes the last three results of a pure function. `listParts` lists what the result depends on:
 * values, and immutable objects, which are compared by identity because the measurements of a long
 * study are megabytes.
 */
export function memoizeLast<A extends readonly unknown[], T>(
  compute: (...parameters: A) => T,
  listParts: (...parameters: A) => readonly unknown[],
): (...parameters: A) => T {
  const kept: { readonly parts: readonly unknown[]; readonly value: T }[] = [];
  return (...parameters) => {
    const parts = listParts(...parameters);
    const known = kept.find((each) => areSame(each.parts, parts));
    if (known) return known.value;
    const value = compute(...parameters);
    if (kept.length >= MAX_MEMOIZED) kept.shift();
    kept.push({ parts: [...parts], value });
    return value;
  };
}

const MAX_MEMOIZED = 3;

const areSame = (one: readonly unknown[], other: readonly unknown[]): boolean =>
  one.length === other.length && one.every((part, index) => part === other[index]);

/** Memoizes a pure function of an object by that object's identity. */
export function memoizeByIdentity<A extends object, T>(compute: (parameter: A) => T): (parameter: A) => T {
  const known = new WeakMap<A, { readonly value: T }>();
  return (parameter) => {
    const kept = known.get(parameter) ?? { value: compute(parameter) };
    known.set(parameter, kept);
    return kept.value;
  };
}
