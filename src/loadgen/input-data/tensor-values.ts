import { TrituneError } from '#base/errors.ts';
import type { Random } from '#base/random.ts';
import { type NumericType, numericType } from './data-types.ts';
import { encodeTexts } from './text-elements.ts';

/**
 * The values of an input tensor: zeros, or seeded random values that every model of the type can
 * take.
 */
export type ValueKind = 'zero' | 'random';

export interface ValueOptions {
  readonly kind: ValueKind;
  /** Inclusive range of random integers; 0 to 99 if absent. */
  readonly integers?: { readonly low: number; readonly high: number };
  /** Letters of a random string; 128 if absent. */
  readonly stringLength?: number;
  /** The value of every string, also for zeros. */
  readonly text?: string;
}

/**
 * Integers stay small: they are often indices, and a model may fail or crash on one out of range.
 */
const SMALL_INTEGERS = { low: 0, high: 99 };
export const DEFAULT_STRING_LENGTH = 128;
const LETTERS = Buffer.from('abcdefghijklmnopqrstuvwxyz0123456789');

/**
 * Returns `count` elements of a KServe data type as raw bytes: little-endian, each BYTES element
 * with a 4-byte length. Random integers are small, fractions are in [0, 1), truth values are 0 or
 * 1. A zero of BYTES is the text "0", which a model that parses numbers can read. Errors:
 * UNSUPPORTED for an unknown type; INPUT_INVALID for integers that the type cannot hold.
 */
export function tensorBytes(datatype: string, count: number, options: ValueOptions, random: Random): Uint8Array {
  const type = numericType(datatype);
  if (!type) return encodeTexts(Array.from({ length: count }, () => toText(options, random)));
  const raw = new Uint8Array(count * type.bytes);
  if (options.kind === 'zero') return raw;
  const next = createValues(datatype, type, options, random);
  const view = new DataView(raw.buffer);
  for (let at = 0; at < raw.length; at += type.bytes) type.write(view, at, next());
  return raw;
}

function createValues(datatype: string, type: NumericType, options: ValueOptions, random: Random): () => number {
  if (type.kind === 'bool') return () => random.int(0, 1);
  if (type.kind === 'integer') {
    const { low, high } = options.integers ?? SMALL_INTEGERS;
    if (low < type.low || high > type.high) {
      throw new TrituneError(
        'INPUT_INVALID',
        `${datatype} cannot hold integers from ${low} to ${high}`,
        `give --integers within ${type.low}:${type.high}`,
      );
    }
    return () => random.int(low, high);
  }
  // Whole multiples of the type's resolution below 1, so that nothing is rounded up to 1.
  const steps = 2 ** type.precision;
  return () => Math.floor(random.float() * steps) / steps;
}

function toText(options: ValueOptions, random: Random): string | Uint8Array {
  if (options.text !== undefined) return options.text;
  if (options.kind === 'zero') return '0';
  const text = new Uint8Array(options.stringLength ?? DEFAULT_STRING_LENGTH);
  for (let at = 0; at < text.length; at++) text[at] = LETTERS[random.int(0, LETTERS.length - 1)] as number;
  return text;
}
