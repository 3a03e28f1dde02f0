import type { Json } from '#base/json.ts';
import type { RelativeValue } from '../types.ts';

type RelativeSizes = RelativeValue & { readonly kind: 'sizes' };

/** The most preferred sizes: some backends prepare an execution of each at every load. */
const MAX_SIZES = 16;

/**
 * Reads preferred batch sizes that follow the largest batch: `max`, or `multiples_of_8`; undefined
 * for anything else.
 */
export function relativeSizes(value: Json): RelativeSizes | undefined {
  if (value === 'max') return { kind: 'sizes', multiplesOf: null };
  const [, step] = typeof value === 'string' ? (/^multiples_of_([1-9]\d{0,5})$/.exec(value) ?? []) : [];
  return step === undefined ? undefined : { kind: 'sizes', multiplesOf: Number(step) };
}

/**
 * Returns the sizes up to a largest batch, rising: the multiples and the largest itself, at most
 * 16. If there are more, the step is doubled until there are not.
 */
export function sizesUpTo(largest: number, multiplesOf: number | null): number[] {
  let step = multiplesOf ?? largest;
  while (largest / step > MAX_SIZES) step *= 2;
  const multiples = Array.from({ length: Math.ceil(largest / step) - 1 }, (_, index) => step * (index + 1));
  return largest > 0 ? [...multiples, largest] : [];
}

/**
 * Returns a config's own preferred sizes after a change of the largest batch: those that fit, and
 * the new largest.
 */
export const sizesKept = (sizes: readonly number[], largest: number): number[] =>
  [...sizes.filter((size) => size < largest), ...(largest > 0 ? [largest] : [])].sort((a, b) => a - b);
