import { seededRandom } from '../../base/random.ts';
import { numericType } from '../tensors/data-types.ts';
import { DEFAULT_STRING_LENGTH, tensorBytes, type ValueOptions } from '../tensors/tensor-values.ts';
import { LENGTH_BYTES } from '../tensors/text-elements.ts';
import { MAX_TENSOR_BYTES } from './directory-data.ts';
import { type GivenShapes, invalidInput, type Sample, type SampleTensor, shapeGiven } from './sample.ts';
import { checkedShape, elementsOf, shapeText } from './shapes.ts';
import type { ModelTensors, TensorSpec } from './tensor-spec.ts';

/** A choice that was made for the user, to be shown to them. */
export interface AssumedInput {
  readonly input: string;
  readonly choice: string;
}

export interface GeneratedStream {
  readonly samples: readonly Sample[];
  readonly assumed: readonly AssumedInput[];
}

/**
 * Returns this many samples with generated values for every input that the model needs. A dimension of any size (-1) becomes 1 unless `shapes` says
 * otherwise, and optional inputs are left out unless `shapes` names them: `assumed` lists both. Errors: INPUT_INVALID, UNSUPPORTED (an unknown data
 * type).
 */
export function generatedStream(
  { model, inputs }: ModelTensors,
  count: number,
  shapes: GivenShapes,
  options: ValueOptions & { readonly seed: number },
): GeneratedStream {
  const random = seededRandom(options.seed);
  const assumed: AssumedInput[] = [];
  const wanted: { readonly spec: TensorSpec; readonly shape: readonly number[] }[] = [];
  for (const spec of inputs) {
    const given = shapeGiven(shapes, spec.name);
    if (spec.isOptional && !given) {
      assumed.push({ input: spec.name, choice: 'left out: it is optional' });
      continue;
    }
    checkDims(model, spec);
    const shape = given ? checkedShape(model, spec, given) : spec.dims.map((dim) => (dim === -1 ? 1 : dim));
    if (!given && spec.dims.includes(-1)) {
      assumed.push({ input: spec.name, choice: `shape ${shapeText(shape)} for ${shapeText(spec.dims)}` });
    }
    checkSize(model, spec, shape, { count, ...options });
    wanted.push({ spec, shape });
  }
  const generate = ({ spec, shape }: (typeof wanted)[number]): SampleTensor => ({
    spec,
    shape,
    raw: tensorBytes(spec.datatype, elementsOf(shape), options, random),
  });
  // Shared by all samples.
  const shared = new Map(wanted.filter(({ spec }) => spec.isShapeTensor).map((tensor) => [tensor, generate(tensor)]));
  const samples = Array.from({ length: count }, () => ({
    place: model,
    inputs: wanted.map((tensor) => shared.get(tensor) ?? generate(tensor)),
    expected: [],
  }));
  return { samples, assumed };
}

/** The server may send anything. */
function checkDims(model: string, { name, dims }: TensorSpec): void {
  if (dims.every((dim) => Number.isSafeInteger(dim) && dim >= -1)) return;
  throw invalidInput(
    model,
    `the server says that input '${name}' has shape ${shapeText(dims)}`,
    'check its config on the server',
  );
}

function checkSize(
  model: string,
  spec: TensorSpec,
  shape: readonly number[],
  { count, text, stringLength }: ValueOptions & { readonly count: number },
): void {
  const textBytes =
    LENGTH_BYTES + (text === undefined ? (stringLength ?? DEFAULT_STRING_LENGTH) : Buffer.byteLength(text));
  const bytes = elementsOf(shape) * count * (numericType(spec.datatype)?.bytes ?? textBytes);
  if (bytes <= MAX_TENSOR_BYTES) return;
  throw invalidInput(
    model,
    `input '${spec.name}' of shape ${shapeText(shape)} is too large for one request`,
    'choose a smaller --shape or batch',
  );
}
