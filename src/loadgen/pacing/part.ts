/** One of several threads that divide a load level among them, by number from 0. */
export interface Part {
  readonly index: number;
  readonly of: number;
}

/** All of it, for a thread alone. */
export const whole: Part = { index: 0, of: 1 };

/** Returns the part's share of `total`. The shares add up to the total, and differ by at most one. */
export const shareOf = (total: number, { index, of }: Part): number =>
  Math.floor(total / of) + (index < total % of ? 1 : 0);

/** Returns the part's piece of a range of whole numbers, both ends included; the pieces lie end to end. */
export function pieceOf({ low, high }: Range, part: Part): Range {
  const size = high - low + 1;
  const start = low + part.index * Math.floor(size / part.of) + Math.min(part.index, size % part.of);
  return { low: start, high: start + shareOf(size, part) - 1 };
}

interface Range {
  readonly low: number;
  readonly high: number;
}
