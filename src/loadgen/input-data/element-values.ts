import { type NumericType, numericType } from './data-types.ts';
import { encodeTexts } from './text-elements.ts';

/** Makes the error for an element that its data type does not accept. */
export type ElementFault = (index: number, expected: string) => Error;

/**
 * Returns JSON values as the raw bytes of a tensor. Integers are accepted as floats, 0 and 1 as
 * truth values, and the texts NaN, Infinity and -Infinity as floats that JSON cannot express.
 * Throws the error that `fault` makes for the first value that does not fit its type; UNSUPPORTED
 * for an unknown type.
 */
export function encodeElements(datatype: string, values: readonly unknown[], fault: ElementFault): Uint8Array {
  const type = numericType(datatype);
  if (!type) {
    const wrong = values.findIndex((value) => typeof value !== 'string');
    if (wrong >= 0) throw fault(wrong, 'a string');
    return encodeTexts(values as readonly string[]);
  }
  const raw = new Uint8Array(values.length * type.bytes);
  const view = new DataView(raw.buffer);
  for (let index = 0; index < values.length; index++) {
    const value = toNumber(type, values[index]);
    if (value === undefined) throw fault(index, expectation(datatype, type));
    type.write(view, index * type.bytes, value);
  }
  return raw;
}

function toNumber(type: NumericType, value: unknown): number | bigint | undefined {
  switch (type.kind) {
    case 'bool':
      return value === true || value === 1 ? 1 : value === false || value === 0 ? 0 : undefined;
    case 'integer':
      return isInteger(value) && value >= type.low && value <= type.high ? value : undefined;
    case 'float': {
      if (value === 'NaN' || value === 'Infinity' || value === '-Infinity') return Number(value);
      if (typeof value !== 'number' && typeof value !== 'bigint') return undefined;
      const number = Number(value);
      // Accepts values beyond the largest if they round to it.
      return Math.abs(number) < Number(type.high) * (1 + 2 ** (-1 - type.precision)) || Math.abs(number) === type.high
        ? number
        : undefined;
    }
  }
}

/**
 * A number that JSON's own numbers cannot hold exactly arrives as a bigint, so a float here lost
 * nothing.
 */
const isInteger = (value: unknown): value is number | bigint =>
  typeof value === 'bigint' || (typeof value === 'number' && Number.isInteger(value));

function expectation(datatype: string, type: NumericType): string {
  if (type.kind === 'bool') return 'true or false';
  if (type.kind === 'float') return `a number within ±${type.high} for ${datatype}, or NaN, Infinity, -Infinity`;
  return `an integer from ${type.low} to ${type.high} for ${datatype}`;
}
