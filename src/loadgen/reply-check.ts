import { type NumericType, numericType } from './input-data/data-types.ts';
import type { OutputTensor, PreparedRequest, ReplyCheck, SendFailure, Transport } from './types.ts';

/** Compares an output with the expected one. Returns the difference in words, or null. */
type CompareOutput = (expected: OutputTensor, actual: OutputTensor | undefined) => string | null;

/**
 * Returns a check that compares the replies to a request with the expected ones in order: as many
 * replies, each with the expected outputs, by name. A request that expects nothing may have any
 * replies.
 */
export function checkInOrder(compare: CompareOutput): ReplyCheck {
  return ({ expected }, replies) => {
    if (expected === undefined) return null;
    if (replies.length !== expected.length)
      return mismatch(`it had ${counted(replies.length)} instead of ${expected.length}`);
    for (const [index, outputs] of expected.entries()) {
      for (const output of outputs) {
        const message = compare(
          output,
          replies[index]?.find(({ name }) => name === output.name),
        );
        const whose = expected.length > 1 ? ` of reply ${index + 1}` : '';
        if (message !== null) return mismatch(`output '${output.name}'${whose} ${message}`);
      }
    }
    return null;
  };
}

const mismatch = (message: string): SendFailure => ({ ok: false, kind: 'mismatch', message });

const counted = (replies: number): string => (replies === 1 ? '1 reply' : `${replies} replies`);

/**
 * Compares replies with the expected outputs of their request. With a tolerance of 0 every byte
 * must be equal. Otherwise floats a and b (expected) are equal if |a − b| ≤ tolerance × max(1,
 * |b|), and NaN equals NaN.
 */
export const replyCheck = (tolerance: number): ReplyCheck =>
  checkInOrder((expected, actual) => difference(expected, actual, tolerance));

function difference(expected: OutputTensor, actual: OutputTensor | undefined, tolerance: number): string | null {
  if (!actual) return 'is not in the reply';
  if (actual.datatype !== expected.datatype) return `is ${actual.datatype} where ${expected.datatype} was expected`;
  if (actual.raw.length !== expected.raw.length) {
    return `has ${actual.raw.length} bytes where ${expected.raw.length} were expected`;
  }
  if (Buffer.compare(actual.raw, expected.raw) === 0) return null;
  const type = numericType(expected.datatype);
  return type
    ? differenceOfValues(type, toView(expected.raw), toView(actual.raw), tolerance)
    : `differs from byte ${expected.raw.findIndex((byte, index) => byte !== actual.raw[index])} on`;
}

function differenceOfValues(type: NumericType, expected: DataView, actual: DataView, tolerance: number): string | null {
  let first: string | null = null;
  let count = 0;
  const values = expected.byteLength / type.bytes;
  for (let index = 0; index < values; index++) {
    const at = index * type.bytes;
    const [a, b] = [type.read(actual, at), type.read(expected, at)];
    const alike =
      tolerance > 0 && type.kind === 'float'
        ? areClose(Number(a), Number(b), tolerance)
        : sameBytes(actual, expected, at, type.bytes);
    if (alike) continue;
    count++;
    first ??= `value ${index} is ${shown(a)} where ${shown(b)} was expected`;
  }
  return count === 0 ? null : `differs in ${count} of ${values} values: ${first}`;
}

function areClose(a: number, b: number, tolerance: number): boolean {
  if (!Number.isFinite(b)) return Object.is(a, b);
  return Math.abs(a - b) <= tolerance * Math.max(1, Math.abs(b));
}

function sameBytes(a: DataView, b: DataView, at: number, bytes: number): boolean {
  for (let index = at; index < at + bytes; index++) if (a.getUint8(index) !== b.getUint8(index)) return false;
  return true;
}

/** A template would turn -0 into 0. */
const shown = (value: number | bigint): string => (Object.is(value, -0) ? '-0' : `${value}`);

const toView = ({ buffer, byteOffset, byteLength }: Uint8Array): DataView =>
  new DataView(buffer, byteOffset, byteLength);

/**
 * Returns a transport whose requests fail if their replies do not pass the check. The other
 * transport must read replies.
 */
export function checkedTransport<P extends PreparedRequest>(transport: Transport<P>, check: ReplyCheck): Transport<P> {
  return {
    prepare: (request) => transport.prepare(request),
    send: (prepared, done) =>
      transport.send(prepared, (outcome) =>
        done(outcome.ok ? (check(prepared.request, outcome.replies ?? []) ?? outcome) : outcome),
      ),
    close: () => transport.close(),
  };
}
