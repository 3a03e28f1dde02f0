import type { FloatKind, IntegerKind } from './schema.ts';

/**
 * A 64-bit integer as JSON: a number, or beyond ±(2^53 − 1), where numbers are not exact, its
 * decimal digits as text.
 */
export type Int64 = number | string;

/** Reports why a value cannot be used; the caller knows its position and throws. */
export type Refuse = (reason: string) => never;

const ranges: Record<IntegerKind, readonly [low: bigint, high: bigint]> = {
  int32: [-(2n ** 31n), 2n ** 31n - 1n],
  uint32: [0n, 2n ** 32n - 1n],
  int64: [-(2n ** 63n), 2n ** 63n - 1n],
  uint64: [0n, 2n ** 64n - 1n],
};
const exact = BigInt(Number.MAX_SAFE_INTEGER);

/** Returns the integer as JSON, exactly. Refuses one outside the range of its type. */
export function integerValue(kind: IntegerKind, value: bigint, refuse: Refuse): Int64 {
  const [low, high] = ranges[kind];
  if (value < low || value > high) return refuse(`${value} is outside ${kind} (${low} to ${high})`);
  return value > exact || value < -exact ? String(value) : Number(value);
}

/**
 * Returns a floating-point value as JSON: a number, or protobuf JSON's "NaN", "Infinity",
 * "-Infinity". A `float` becomes the shortest decimal number that rounds to it, so that 0.1 from a
 * JSON reply equals 0.1 from a binary one.
 */
export function floatValue(kind: FloatKind, value: number, refuse: Refuse): number | string {
  if (!Number.isFinite(value)) return String(value);
  if (kind === 'double') return value + 0; // -0 becomes 0, as in JSON text
  const rounded = Math.fround(value);
  if (!Number.isFinite(rounded)) return refuse(`${value} is outside float`);
  for (let digits = 6; digits < 9; digits++) {
    const short = Number(rounded.toPrecision(digits));
    if (Math.fround(short) === rounded) return short + 0;
  }
  return Number(rounded.toPrecision(9));
}
