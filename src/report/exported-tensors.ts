import { jsonValues } from '#loadgen/transports/json-tensors.ts';
import type { OutputTensor } from '#loadgen/types.ts';

const texts = new WeakMap<readonly OutputTensor[], string>();

/**
 * Returns the JSON text of an object with each tensor's values: a flat list, or the value alone if
 * there is only one. Values without a JSON form (16-bit floats, NaN, strings that are not UTF-8)
 * become null. Requests that are sent repeatedly share the same list of tensors, whose text is made
 * once.
 */
export function exportedTensors(tensors: readonly OutputTensor[]): string {
  const known = texts.get(tensors);
  if (known !== undefined) return known;
  const text = `{${tensors.map((tensor) => `${JSON.stringify(tensor.name)}:${formatValues(tensor)}`).join(',')}}`;
  texts.set(tensors, text);
  return text;
}

function formatValues(tensor: OutputTensor): string {
  let list: string;
  try {
    list = jsonValues(tensor);
  } catch {
    return 'null';
  }
  // A single string may contain commas, so the quotes matter too.
  const values = JSON.parse(list) as unknown[];
  return values.length === 1 ? list.slice(1, -1) : list;
}
