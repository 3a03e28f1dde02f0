import { type NumericType, numericType } from './tensors/data-types.ts';
import type { OutputTensor, ReplyCheck } from './types.ts';

/**
 * Compares a reply with the expected outputs of its request. With a tolerance of 0 every byte must be equal. Otherwise floats a and b (expected)
 * are equal if |a − b| ≤ tolerance × max(1, |b|), and NaN equals NaN.
 */
export function replyCheck(tolerance: number): ReplyCheck {
  return (request, outputs) => {
    for (const expected of request.expected ?? []) {
      const message = difference(
        expected,
        outputs.find((output) => output.name === expected.name),
        tolerance,
      );
      if (message !== null) return { ok: false, kind: 'mismatch', message: `output '${expected.name}' ${message}` };
    }
    return null;
  };
}

/** Combines two checks, if there are two. The second sees the reply first, whatever the verdict of the first. */
export const bothChecks = (first: ReplyCheck | undefined, second: ReplyCheck | undefined): ReplyCheck | undefined =>
  first && second
    ? (request, outputs) => {
        const failure = second(request, outputs);
        return first(request, outputs) ?? failure;
      }
    : (first ?? second);

function difference(expected: OutputTensor, actual: OutputTensor | undefined, tolerance: number): string | null {
  if (!actual) return 'is not in the reply';
  if (actual.datatype !== expected.datatype) return `is ${actual.datatype} where ${expected.datatype} was expected`;
  if (actual.raw.length !== expected.raw.length) {
    return `has ${actual.raw.length} bytes where ${expected.raw.length} were expected`;
  }
  if (Buffer.compare(actual.raw, expected.raw) === 0) return null;
  const type = numericType(expected.datatype);
  return type
    ? differenceOfValues(type, viewOf(expected.raw), viewOf(actual.raw), tolerance)
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

const viewOf = ({ buffer, byteOffset, byteLength }: Uint8Array): DataView =>
  new DataView(buffer, byteOffset, byteLength);
