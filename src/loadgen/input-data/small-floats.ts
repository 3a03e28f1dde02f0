/** A 16-bit floating-point layout: sign, exponent, and this number of fraction bits. */
export interface SmallFloat {
  readonly fractionBits: number;
  /** Exponent of the smallest normal number. */
  readonly minExponent: number;
}

/** binary16 (KServe FP16). */
export const half: SmallFloat = { fractionBits: 10, minExponent: -14 };
/** bfloat16 (KServe BF16): the upper half of a 32-bit float. */
export const brain: SmallFloat = { fractionBits: 7, minExponent: -126 };

const scratch = new DataView(new ArrayBuffer(8));

/**
 * Returns the bits of a number, rounded to the nearest, ties to even; infinity beyond the largest.
 */
export function smallFloatBits({ fractionBits, minExponent }: SmallFloat, value: number): number {
  scratch.setFloat64(0, value);
  const sign = scratch.getUint8(0) & 0x80 ? 0x8000 : 0;
  const infinity = 0x8000 - 2 ** fractionBits;
  if (Number.isNaN(value)) return infinity + 2 ** (fractionBits - 1);
  const magnitude = Math.abs(value);
  if (magnitude === Number.POSITIVE_INFINITY) return sign + infinity;
  const exponent = Math.max(((scratch.getUint16(0) >> 4) & 0x7ff) - 1023, minExponent);
  // Exact: a division by a power of two. Above the smallest exponent it is at least 2^fractionBits.
  const steps = nearestEven(magnitude / 2 ** (exponent - fractionBits));
  return sign + Math.min((exponent - minExponent) * 2 ** fractionBits + steps, infinity);
}

/** Returns the number that the bits stand for. */
export function smallFloatValue({ fractionBits, minExponent }: SmallFloat, bits: number): number {
  const sign = bits & 0x8000 ? -1 : 1;
  const fraction = bits & (2 ** fractionBits - 1);
  const exponent = (bits & 0x7fff) >> fractionBits;
  if (exponent === 2 ** (15 - fractionBits) - 1) return fraction === 0 ? sign * Number.POSITIVE_INFINITY : Number.NaN;
  const steps = exponent === 0 ? fraction : fraction + 2 ** fractionBits;
  return sign * steps * 2 ** (Math.max(exponent, 1) - 1 + minExponent - fractionBits);
}

function nearestEven(value: number): number {
  const below = Math.floor(value);
  const rest = value - below;
  if (rest !== 0.5) return rest < 0.5 ? below : below + 1;
  return below % 2 === 0 ? below : below + 1;
}
