import { TrituneError } from '#base/errors.ts';
import { brain, half, type SmallFloat, smallFloatBits, smallFloatValue } from './small-floats.ts';

/** A KServe data type whose elements have one size; little-endian, as raw tensors are. */
export interface NumericType {
  readonly bytes: number;
  readonly kind: 'bool' | 'integer' | 'float';
  /**
   * The least and the greatest value; for floats, the greatest finite one, with the digits it
   * keeps.
   */
  readonly low: bigint | number;
  readonly high: bigint | number;
  /** Bits of a float's significand, including the leading one; 0 for other types. */
  readonly precision: number;
  write(view: DataView, at: number, value: bigint | number): void;
  read(view: DataView, at: number): bigint | number;
}

const types: ReadonlyMap<string, NumericType> = new Map([
  ['BOOL', { ...integers(1, 0, 1, 'Uint8'), kind: 'bool' }],
  ['UINT8', integers(1, 0, 0xff, 'Uint8')],
  ['UINT16', integers(2, 0, 0xffff, 'Uint16')],
  ['UINT32', integers(4, 0, 0xffffffff, 'Uint32')],
  ['UINT64', longs(0n, 2n ** 64n - 1n, 'BigUint64')],
  ['INT8', integers(1, -0x80, 0x7f, 'Int8')],
  ['INT16', integers(2, -0x8000, 0x7fff, 'Int16')],
  ['INT32', integers(4, -0x80000000, 0x7fffffff, 'Int32')],
  ['INT64', longs(-(2n ** 63n), 2n ** 63n - 1n, 'BigInt64')],
  ['FP16', smallFloats(half)],
  ['BF16', smallFloats(brain)],
  ['FP32', floats(4, 24, 2 ** 128 - 2 ** 104, 'Float32')],
  ['FP64', floats(8, 53, Number.MAX_VALUE, 'Float64')],
]);

/**
 * Returns the type; undefined for BYTES, whose elements vary in size. Errors: UNSUPPORTED for an
 * unknown type.
 */
export function numericType(datatype: string): NumericType | undefined {
  const type = types.get(datatype);
  if (type || datatype === 'BYTES') return type;
  throw new TrituneError(
    'UNSUPPORTED',
    `there is no data type '${datatype}'`,
    'update tritune: the server named a type that this version does not know',
  );
}

function integers(
  bytes: number,
  low: number,
  high: number,
  name: 'Uint8' | 'Uint16' | 'Uint32' | 'Int8' | 'Int16' | 'Int32',
): NumericType {
  return {
    bytes,
    kind: 'integer',
    low,
    high,
    precision: 0,
    write: (view, at, value) => view[`set${name}`](at, Number(value), true),
    read: (view, at) => view[`get${name}`](at, true),
  };
}

function longs(low: bigint, high: bigint, name: 'BigInt64' | 'BigUint64'): NumericType {
  return {
    bytes: 8,
    kind: 'integer',
    low,
    high,
    precision: 0,
    write: (view, at, value) => view[`set${name}`](at, BigInt(value), true),
    read: (view, at) => view[`get${name}`](at, true),
  };
}

function floats(bytes: number, precision: number, high: number, name: 'Float32' | 'Float64'): NumericType {
  return {
    bytes,
    kind: 'float',
    low: -high,
    high,
    precision,
    write: (view, at, value) => view[`set${name}`](at, Number(value), true),
    read: (view, at) => view[`get${name}`](at, true),
  };
}

function smallFloats(format: SmallFloat): NumericType {
  const high = smallFloatValue(format, 0x7fff - 2 ** format.fractionBits);
  return {
    bytes: 2,
    kind: 'float',
    low: -high,
    high,
    precision: format.fractionBits + 1,
    write: (view, at, value) => view.setUint16(at, smallFloatBits(format, Number(value)), true),
    read: (view, at) => smallFloatValue(format, view.getUint16(at, true)),
  };
}
