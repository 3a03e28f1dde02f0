import { TrituneError } from '../base/errors.ts';
import type { Random } from '../base/random.ts';

/** What fills an input tensor: zeros, or seeded random values that every model of the type can take. */
export type ValueKind = 'zero' | 'random';

/** Integers stay small: they are often indices, and a model may fail or crash on one that is out of range. */
const LARGEST_INTEGER = 99;
const STRING_LENGTH = 16;
const LETTERS = 'abcdefghijklmnopqrstuvwxyz0123456789';

interface FixedSize {
  readonly bytes: number;
  /** Writes one random value: integers from 0 to 99, fractions in [0, 1), truth values 0 or 1. */
  write(view: DataView, offset: number, random: Random): void;
}

const integer = (random: Random): number => random.int(0, LARGEST_INTEGER);

const fixedSizes: Readonly<Record<string, FixedSize>> = {
  BOOL: { bytes: 1, write: (view, at, random) => view.setUint8(at, random.int(0, 1)) },
  UINT8: { bytes: 1, write: (view, at, random) => view.setUint8(at, integer(random)) },
  UINT16: { bytes: 2, write: (view, at, random) => view.setUint16(at, integer(random), true) },
  UINT32: { bytes: 4, write: (view, at, random) => view.setUint32(at, integer(random), true) },
  UINT64: { bytes: 8, write: (view, at, random) => view.setUint32(at, integer(random), true) },
  INT8: { bytes: 1, write: (view, at, random) => view.setInt8(at, integer(random)) },
  INT16: { bytes: 2, write: (view, at, random) => view.setInt16(at, integer(random), true) },
  INT32: { bytes: 4, write: (view, at, random) => view.setInt32(at, integer(random), true) },
  INT64: { bytes: 8, write: (view, at, random) => view.setUint32(at, integer(random), true) },
  FP16: { bytes: 2, write: (view, at, random) => view.setUint16(at, halfBits(random.float()), true) },
  BF16: { bytes: 2, write: (view, at, random) => view.setUint16(at, floatBits(random.float()) >>> 16, true) },
  FP32: { bytes: 4, write: (view, at, random) => view.setFloat32(at, halfOpen(random.float()), true) },
  FP64: { bytes: 8, write: (view, at, random) => view.setFloat64(at, random.float(), true) },
};

/**
 * `count` elements of a KServe data type as raw bytes: little-endian, BYTES elements each with a 4-byte length.
 * Zeros of BYTES are the text "0", which a model that parses numbers can read. Errors: UNSUPPORTED for an unknown type.
 */
export function tensorBytes(datatype: string, count: number, kind: ValueKind, random: Random): Uint8Array {
  if (datatype === 'BYTES') return textBytes(count, kind, random);
  const type = fixedSizes[datatype];
  if (!type) {
    throw new TrituneError('UNSUPPORTED', `there is no data type '${datatype}'`, 'the server gave a type unknown here');
  }
  const raw = new Uint8Array(count * type.bytes);
  if (kind === 'zero') return raw;
  const view = new DataView(raw.buffer);
  for (let index = 0; index < count; index++) type.write(view, index * type.bytes, random);
  return raw;
}

function textBytes(count: number, kind: ValueKind, random: Random): Uint8Array {
  const length = kind === 'zero' ? 1 : STRING_LENGTH;
  const raw = new Uint8Array(count * (4 + length));
  const view = new DataView(raw.buffer);
  for (let index = 0; index < count; index++) {
    const start = index * (4 + length);
    view.setUint32(start, length, true);
    for (let letter = 0; letter < length; letter++) {
      const text = kind === 'zero' ? '0' : (LETTERS[random.int(0, LETTERS.length - 1)] as string);
      raw[start + 4 + letter] = text.charCodeAt(0);
    }
  }
  return raw;
}

const scratch = new DataView(new ArrayBuffer(4));

function floatBits(value: number): number {
  scratch.setFloat32(0, halfOpen(value));
  return scratch.getUint32(0);
}

/** The bits of a value in [0, 1) as IEEE 754 binary16, rounded towards zero; below its smallest normal number, zero. */
function halfBits(value: number): number {
  const bits = floatBits(value);
  const exponent = (bits >>> 23) - 127;
  return exponent < -14 ? 0 : ((exponent + 15) << 10) | ((bits >>> 13) & 0x3ff);
}

/** Keeps a value just below 1 from being rounded up to 1 as a 32-bit float. */
const halfOpen = (value: number): number => Math.min(value, 1 - 2 ** -24);
