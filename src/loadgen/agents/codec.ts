import { Decoder, Encoder, ExtensionCodec } from '@msgpack/msgpack';
import { formatMessage, internalError, TrituneError } from '#base/errors.ts';

/** The maximum nesting of arrays and maps in a message. */
const MAX_LEVELS = 24;

/** Extension types for values without a form in MessagePack. */
const MAP = 1;
/** Typed arrays by kind, little-endian. */
const rows = [
  { type: 2, of: Uint16Array, put: 'setUint16', get: 'getUint16' },
  { type: 3, of: Uint32Array, put: 'setUint32', get: 'getUint32' },
  { type: 4, of: Float64Array, put: 'setFloat64', get: 'getFloat64' },
] as const;

const extensionCodec = new ExtensionCodec();
const codec = { extensionCodec, ignoreUndefined: true };
const decoder = new Decoder({ extensionCodec });

for (const row of rows) {
  extensionCodec.register({
    type: row.type,
    encode: (value) => (value instanceof row.of ? littleEndian(value, row) : null),
    decode: (bytes) => toRow(bytes, row),
  });
}
extensionCodec.register({
  type: MAP,
  encode: (value) => {
    // The library would send any other view as plain bytes.
    if (ArrayBuffer.isView(value) && !(value instanceof Uint8Array) && !rows.some(({ of }) => value instanceof of))
      throw internalError(`rows of ${value.constructor.name} have no form here`);
    return value instanceof Map ? encodeMessage([...value]) : null;
  },
  decode: (bytes) => readMap(bytes),
});

/**
 * Returns plain data as bytes: numbers, texts, arrays, objects, bytes, typed arrays and `Map`
 * (MessagePack, with extension types for the last two). Leaves out undefined fields.
 */
export const encodeMessage = (value: unknown): Uint8Array => new Encoder(codec).encode(value);

/** Copies of a message: as it arrived, decoded and checked, and sent to a thread. */
const COPIES = 3;
/** Memory of a value in a copy, beside its bytes. */
const VALUE_BYTES = 40;

/**
 * Returns how much memory the work for a message may take at most, without decoding it. Errors:
 * AGENT_FAILED.
 */
export const computeMemory = (bytes: Uint8Array): number => COPIES * (bytes.length + VALUE_BYTES * checkShape(bytes));

/**
 * Returns the data of untrusted bytes; binary values are views of them. Takes memory only in
 * proportion to the bytes. Errors: AGENT_FAILED.
 */
export function decodeMessage(bytes: Uint8Array): unknown {
  checkShape(bytes);
  try {
    return decoder.decode(bytes);
  } catch (error) {
    throw malformed(formatMessage(error));
  }
}

/**
 * Checks that containers have their stated length and are not nested too deeply. The decoder
 * allocates what the head of an array promises, so nested heads would take far more memory than
 * their bytes. Returns the number of values.
 */
function checkShape(bytes: Uint8Array): number {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  /** Values that are still missing in each open container. */
  const open = [1];
  let at = 0;
  let count = 0;
  while (open.length > 0) {
    const left = (open.at(-1) as number) - 1;
    if (left < 0) {
      open.pop();
      continue;
    }
    open[open.length - 1] = left;
    if (at >= bytes.length) throw malformed('it ends too early');
    const { headBytes, bodyBytes, values } = headAt(view, at);
    at += headBytes + bodyBytes;
    count++;
    if (at + values > bytes.length) throw malformed('it ends too early');
    if (values > 0) open.push(values);
    if (open.length > MAX_LEVELS) throw malformed('it is nested too deeply');
  }
  if (at !== bytes.length) throw malformed('it continues after its end');
  return count;
}

interface Head {
  readonly headBytes: number;
  /** Bytes of the value after its head. */
  readonly bodyBytes: number;
  /** Values that follow an array or map. */
  readonly values: number;
}

const scalar = (bodyBytes: number): Head => ({ headBytes: 1, bodyBytes, values: 0 });

/**
 * Bytes after the heads 0xc0 to 0xdf of fixed sizes; null for those with a length.
 * https://github.com/msgpack/msgpack/blob/master/spec.md
 */
const sizes: readonly (number | null)[] = [
  ...[0, null, 0, 0, null, null, null, null, null, null, 4, 8],
  ...[1, 2, 4, 8, 1, 2, 4, 8],
  ...[2, 3, 5, 9, 17],
  ...[null, null, null, null, null, null, null],
];

function headAt(view: DataView, at: number): Head {
  const type = view.getUint8(at);
  if (type < 0x80 || type >= 0xe0) return scalar(0);
  if (type < 0x90) return { headBytes: 1, bodyBytes: 0, values: 2 * (type & 0x0f) };
  if (type < 0xa0) return { headBytes: 1, bodyBytes: 0, values: type & 0x0f };
  if (type < 0xc0) return scalar(type & 0x1f);
  const size = sizes[type - 0xc0] ?? null;
  if (size !== null) return scalar(size);
  const lengthBytes = countLengthBytes(type);
  if (at + 1 + lengthBytes > view.byteLength) throw malformed('it ends too early');
  const length =
    lengthBytes === 1 ? view.getUint8(at + 1) : lengthBytes === 2 ? view.getUint16(at + 1) : view.getUint32(at + 1);
  const headBytes = 1 + lengthBytes;
  if (type >= 0xde) return { headBytes, bodyBytes: 0, values: 2 * length };
  if (type >= 0xdc) return { headBytes, bodyBytes: 0, values: length };
  // Extensions have one more byte, for their type.
  return { headBytes, bodyBytes: length + (type >= 0xc7 && type <= 0xc9 ? 1 : 0), values: 0 };
}

function countLengthBytes(type: number): 1 | 2 | 4 {
  if (type === 0xc4 || type === 0xc7 || type === 0xd9) return 1;
  if (type === 0xc5 || type === 0xc8 || type === 0xda || type === 0xdc || type === 0xde) return 2;
  if (type === 0xc6 || type === 0xc9 || type === 0xdb || type === 0xdd || type === 0xdf) return 4;
  throw malformed('it has an unknown type');
}

type Row = (typeof rows)[number];

function littleEndian(values: Uint16Array | Uint32Array | Float64Array, { of, put }: Row): Uint8Array {
  const view = new DataView(new ArrayBuffer(values.byteLength));
  for (let index = 0; index < values.length; index++)
    view[put](of.BYTES_PER_ELEMENT * index, values[index] as number, true);
  return new Uint8Array(view.buffer);
}

function toRow(bytes: Uint8Array, { of, get }: Row): InstanceType<Row['of']> {
  if (bytes.length % of.BYTES_PER_ELEMENT !== 0) throw malformed('an array of numbers has extra bytes');
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  const values = new of(bytes.length / of.BYTES_PER_ELEMENT);
  for (let index = 0; index < values.length; index++) values[index] = view[get](of.BYTES_PER_ELEMENT * index, true);
  return values;
}

function readMap(bytes: Uint8Array): Map<unknown, unknown> {
  checkShape(bytes);
  const entries = new Decoder().decode(bytes);
  if (!Array.isArray(entries) || !entries.every((entry) => Array.isArray(entry) && entry.length === 2))
    throw malformed('a map is not a list of pairs');
  return new Map(entries as [unknown, unknown][]);
}

const malformed = (why: string): TrituneError =>
  new TrituneError(
    'AGENT_FAILED',
    `a message cannot be read: ${why}`,
    'check that a tritune agent runs at this address',
  );
