import { numericType } from './data-types.ts';
import { invalidInput } from './sample.ts';
import type { TensorSpec } from './tensor-spec.ts';

/** The array of a `.npy` file. */
export interface NpyArray {
  readonly raw: Uint8Array;
  readonly shape: readonly number[];
}

const MAGIC = Buffer.from('\x93NUMPY', 'latin1');
const HINT = "write it in numpy: np.save(FILE, np.ascontiguousarray(array.astype('float32')))";

/** NumPy's names of the types, without their byte order. */
const TYPES: Readonly<Record<string, string>> = {
  b1: 'BOOL',
  u1: 'UINT8',
  u2: 'UINT16',
  u4: 'UINT32',
  u8: 'UINT64',
  i1: 'INT8',
  i2: 'INT16',
  i4: 'INT32',
  i8: 'INT64',
  f2: 'FP16',
  f4: 'FP32',
  f8: 'FP64',
};

/** True for the content of a `.npy` file. */
export const isNpy = (content: Buffer): boolean => content.subarray(0, MAGIC.length).equals(MAGIC);

/**
 * Reads a `.npy` file for an input of numbers. By NEP 1 it has the magic, two bytes of version, the
 * length of the header in two bytes (from version 2 on in four), and a Python dictionary with
 * `descr`, `fortran_order` and `shape`. Errors: INPUT_INVALID for one of another type or order.
 */
export function readNpy(place: string, spec: TensorSpec, content: Buffer): NpyArray {
  const start = MAGIC.length + 2;
  const lengthBytes = content[MAGIC.length] === 1 ? 2 : 4;
  if (content.length < start + lengthBytes) throw invalidInput(place, 'its .npy header is cut off', HINT);
  const end = start + lengthBytes + content.readUIntLE(start, lengthBytes);
  const header = content.toString('latin1', start + lengthBytes, Math.min(end, start + MAX_HEADER_BYTES));
  const descr = /'descr':\s*'([<>|=])(\w{1,8})'/.exec(header);
  const shape = /'shape':\s*\(([\d,\s]*)\)/.exec(header)?.[1];
  if (end > content.length || !descr || shape === undefined)
    throw invalidInput(place, 'its .npy header cannot be read', HINT);
  const [, order, code = ''] = descr;
  const datatype = TYPES[code] ?? code;
  if (datatype !== spec.datatype)
    throw invalidInput(place, `it has ${datatype} where '${spec.name}' takes ${spec.datatype}`, HINT);
  if (order === '>' && numericType(datatype)?.bytes !== 1) throw invalidInput(place, 'it is big-endian', HINT);
  if (/'fortran_order':\s*True/.test(header)) throw invalidInput(place, 'it is in Fortran order', HINT);
  return {
    raw: content.subarray(end),
    shape: shape.split(',').flatMap((size) => (size.trim() === '' ? [] : [Number(size)])),
  };
}

/** NumPy itself reads no longer ones from strangers. */
const MAX_HEADER_BYTES = 10_000;
