import { numericType } from './data-types.ts';
import { encodeElements } from './element-values.ts';
import { invalidInput, type SampleTensor } from './sample.ts';
import { shapeOfValues } from './shapes.ts';
import type { TensorSpec } from './tensor-spec.ts';
import { countTexts } from './text-elements.ts';

const FORMS = 'write a list of values, {"b64": "…"}, or {"content": …, "shape": […]}';

interface Values {
  readonly raw: Uint8Array;
  readonly count: number;
  readonly nesting?: readonly number[] | undefined;
}

/**
 * Returns one tensor of a data file: a list, flat or nested, in row-major order; `{"b64"}` with its
 * raw bytes, perhaps next to a `shape`; or either as `content` next to a `shape`. `statedShape` is
 * the shape for tensors without their own. Errors: INPUT_INVALID.
 */
export function jsonTensor(
  place: string,
  spec: TensorSpec,
  value: unknown,
  statedShape?: readonly number[],
): SampleTensor {
  const { content, shape } = parts(place, value);
  const { raw, count, nesting } = Array.isArray(content)
    ? listedValues(place, spec, content)
    : encodedValues(place, spec, content);
  return { spec, raw, shape: shapeOfValues(place, spec, { count, stated: shape ?? statedShape, nesting }) };
}

function parts(place: string, value: unknown): { content: unknown; shape?: readonly number[] | undefined } {
  if (!isObject(value)) return { content: value };
  const isBeside = !Object.hasOwn(value, 'content');
  if (isBeside && !(Object.hasOwn(value, 'b64') && Object.hasOwn(value, 'shape'))) return { content: value };
  const { content, shape, ...others } = isBeside ? withContent(value) : value;
  checkNoOthers(place, others);
  if (shape === undefined) return { content };
  const sizes = Array.isArray(shape) ? shape : [shape];
  if (sizes.every((size) => typeof size === 'number')) return { content, shape: sizes };
  throw invalidInput(place, 'its shape is not a list of whole numbers', 'write for example "shape": [3, 224, 224]');
}

/** NVIDIA's examples have the shape beside the bytes. */
function withContent({ b64, ...others }: Record<string, unknown>): Record<string, unknown> {
  return { content: { b64 }, ...others };
}

function listedValues(place: string, spec: TensorSpec, list: readonly unknown[]): Values {
  const values = list.some(Array.isArray) ? (list.flat(Number.POSITIVE_INFINITY) as unknown[]) : list;
  const raw = encodeElements(spec.datatype, values, (index, expected) =>
    invalidInput(place, `value ${index} is ${shown(values[index])}`, `expected ${expected}`),
  );
  return { raw, count: values.length, nesting: measureNesting(list) ?? undefined };
}

function encodedValues(place: string, spec: TensorSpec, content: unknown): Values {
  if (!isObject(content)) throw invalidInput(place, `${shown(content)} is not a tensor`, FORMS);
  const { b64, ...others } = content;
  checkNoOthers(place, others);
  // Tools break the lines of base64, and some leave out its padding; Node reads both.
  const digits = typeof b64 === 'string' ? b64.replace(/\s+/g, '').replace(/={1,2}$/, '') : '=';
  if (digits.length % 4 === 1 || !/^[A-Za-z0-9+/]*$/.test(digits)) {
    throw invalidInput(place, 'its b64 is not base64 text', 'write the raw bytes in base64');
  }
  const raw = Buffer.from(digits, 'base64');
  return { raw, count: countOfRaw(place, spec, raw) };
}

/**
 * Returns the number of elements in raw bytes. Errors: INPUT_INVALID if they end within an element.
 */
export function countOfRaw(place: string, spec: TensorSpec, raw: Uint8Array): number {
  const type = numericType(spec.datatype);
  const count = type ? raw.length / type.bytes : countTexts(raw);
  if (count !== null && Number.isInteger(count)) return count;
  throw invalidInput(
    place,
    `${raw.length} bytes are not a whole number of ${spec.datatype} values`,
    type
      ? `each takes ${type.bytes} bytes, little-endian`
      : 'each is its length in 4 bytes, little-endian, and the text in UTF-8',
  );
}

/** Returns the shape of regularly nested lists; null if they are irregular. */
function measureNesting(list: readonly unknown[]): readonly number[] | null {
  if (!Array.isArray(list[0])) return list.some(Array.isArray) ? null : [list.length];
  const inner = measureNesting(list[0]);
  if (inner === null) return null;
  for (const part of list) {
    const nesting = Array.isArray(part) ? measureNesting(part) : null;
    if (nesting?.length !== inner.length || !inner.every((size, index) => size === nesting[index])) return null;
  }
  return [list.length, ...inner];
}

function checkNoOthers(place: string, others: object): void {
  const [name] = Object.keys(others);
  if (name !== undefined) throw invalidInput(place, `a tensor has no field ${shown(name)}`, FORMS);
}

const isObject = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

function shown(value: unknown): string {
  const text = typeof value === 'bigint' ? `${value}` : (JSON.stringify(value, printable) ?? 'missing');
  return text.length > 40 ? `${text.slice(0, 39)}…` : text;
}

/** Long integers arrive as bigints, which JSON cannot express. */
const printable = (_: string, value: unknown): unknown => (typeof value === 'bigint' ? `${value}` : value);
