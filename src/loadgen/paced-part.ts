/** One of several threads that share a load level, numbered from 0. */
export interface Part {
  readonly index: number;
  readonly of: number;
}

/** The whole, for a single thread. */
export const whole: Part = { index: 0, of: 1 };

/**
 * Returns the part's share of `total`. The shares add up to the total, and differ by at most one.
 */
export const computeShare = (total: number, { index, of }: Part): number =>
  Math.floor(total / of) + (index < total % of ? 1 : 0);

/** Returns the part's piece of an inclusive range of whole numbers; the pieces are contiguous. */
export function computePiece({ low, high }: Range, part: Part): Range {
  const size = high - low + 1;
  const start = low + part.index * Math.floor(size / part.of) + Math.min(part.index, size % part.of);
  return { low: start, high: start + computeShare(size, part) - 1 };
}

interface Range {
  readonly low: number;
  readonly high: number;
}
