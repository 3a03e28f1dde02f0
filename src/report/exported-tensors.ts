import { jsonValues } from '../loadgen/transports/json-tensors.ts';
import type { OutputTensor } from '../loadgen/types.ts';

const texts = new WeakMap<readonly OutputTensor[], string>();

/**
 * The JSON text of an object with the values of each tensor: a list in one row, or the value alone where there is one. What
 * JSON has no form for (16-bit floats, NaN, strings that are no UTF-8) is null. Requests that are sent over and over have
 * the same list of tensors, whose text is made once.
 */
export function exportedTensors(tensors: readonly OutputTensor[]): string {
  const known = texts.get(tensors);
  if (known !== undefined) return known;
  const text = `{${tensors.map((tensor) => `${JSON.stringify(tensor.name)}:${valuesOf(tensor)}`).join(',')}}`;
  texts.set(tensors, text);
  return text;
}

function valuesOf(tensor: OutputTensor): string {
  let list: string;
  try {
    list = jsonValues(tensor);
  } catch {
    return 'null';
  }
  // One string may hold commas, so its quotes are looked at too.
  const values = JSON.parse(list) as unknown[];
  return values.length === 1 ? list.slice(1, -1) : list;
}
