import { TrituneError } from '#base/errors.ts';
import { numericType } from '../input-data/data-types.ts';
import { decodeTexts } from '../input-data/text-elements.ts';
import type { OutputTensor } from '../types.ts';

/**
 * Returns the tensor's values as the text of a flat JSON array. Errors: UNSUPPORTED for values that
 * JSON cannot express: 16-bit floats (KServe v2 has them in binary only), NaN, infinities, and
 * strings that are not UTF-8.
 */
export function jsonValues({ name, datatype, raw }: OutputTensor): string {
  if (datatype === 'FP16' || datatype === 'BF16') throw unsupported(name, `${datatype} cannot be written in JSON`);
  const type = numericType(datatype);
  if (!type) return JSON.stringify(decodeTexts(raw).map((bytes) => formatText(name, bytes)));
  const view = new DataView(raw.buffer, raw.byteOffset, raw.byteLength);
  const values: string[] = [];
  for (let at = 0; at < raw.byteLength; at += type.bytes) {
    const value = type.read(view, at);
    if (typeof value === 'number' && !Number.isFinite(value))
      throw unsupported(name, `${value} cannot be written in JSON`);
    values.push(type.kind === 'bool' ? String(value !== 0) : String(value));
  }
  return `[${values.join(',')}]`;
}

const utf8 = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });

function formatText(name: string, bytes: Uint8Array): string {
  try {
    return utf8.decode(bytes);
  } catch {
    throw unsupported(name, 'a string that is not UTF-8 cannot be written in JSON');
  }
}

const unsupported = (name: string, why: string): TrituneError =>
  new TrituneError('UNSUPPORTED', `input '${name}' cannot be sent as JSON: ${why}`, 'use --tensor-format binary');
