import { formatFigure, listed } from '#base/format.ts';
import { seededRandom } from '#base/random.ts';
import { BYTES_PER_MIB } from '#base/units.ts';
import { OTHERS } from '#workload/request-spec.ts';
import { numericType } from './data-types.ts';
import { findStatedShape, invalidInput, type Sample, type SampleTensor, type StatedShapes } from './sample.ts';
import { checkedShape, countElements, shapeText } from './shapes.ts';
import type { ModelTensors, TensorSpec } from './tensor-spec.ts';
import { DEFAULT_STRING_LENGTH, tensorBytes, type ValueOptions } from './tensor-values.ts';
import { LENGTH_BYTES } from './text-elements.ts';

/** A choice that was made for the user, to be shown to them. */
export interface AssumedInput {
  readonly input: string;
  readonly choice: string;
  /** The option that changes it. */
  readonly option: '--shape' | '--integers';
}

interface GeneratedTensor {
  readonly spec: TensorSpec;
  readonly shape: readonly number[];
  readonly integers: IntegerRange | undefined;
}

type IntegerRange = NonNullable<ValueOptions['integers']>;

/** How values are made up. */
export interface GeneratedValues extends Omit<ValueOptions, 'integers'> {
  readonly seed: number;
  /** The most bytes of values in one request; 256 MiB if absent. */
  readonly maxBytes?: number;
  /** Ranges of integers by input, `*` for all others. */
  readonly integersByInput?: ReadonlyMap<string, IntegerRange>;
}

/**
 * Ranges that inputs of these names take in every model of their kind: BERT's token types are 0 or
 * 1 and its masks 1 where there is a token (Devlin and others, 2018), and a length of 1 fits any
 * shape.
 */
const RANGES_BY_NAME: readonly (readonly [name: RegExp, range: IntegerRange])[] = [
  [/^(token_type|segment)_ids?$/i, { low: 0, high: 1 }],
  [/^(attention|input|padding)_mask$/i, { low: 1, high: 1 }],
  [/(^|_)(length|lengths|len|lens)$/i, { low: 1, high: 1 }],
];

export interface GeneratedStream {
  readonly samples: readonly Sample[];
  readonly assumed: readonly AssumedInput[];
  /**
   * The numeric inputs with dimensions of any size, if none of these sizes was stated: such
   * requests are as small as the model takes them. One text is a usual size, so texts do not count.
   */
  readonly unsized: readonly TensorSpec[];
}

/**
 * Returns this many samples with generated values for every input that the model needs. A dimension
 * of any size (-1) becomes 1 unless `shapes` says otherwise, and optional inputs are left out
 * unless `shapes` names them: `assumed` lists both. Errors: INPUT_INVALID, UNSUPPORTED (an unknown
 * data type).
 */
export function generatedStream(
  { model, inputs }: ModelTensors,
  count: number,
  shapes: StatedShapes,
  options: GeneratedValues,
): GeneratedStream {
  const random = seededRandom(options.seed);
  const assumed: AssumedInput[] = [];
  const tensors: GeneratedTensor[] = [];
  const unsized: TensorSpec[] = [];
  // A request without any input says nothing to a model.
  const needsNone = inputs.every(({ isOptional, name }) => isOptional && !findStatedShape(shapes, name));
  for (const spec of inputs) {
    const statedShape = findStatedShape(shapes, spec.name);
    if (spec.isOptional && !statedShape && !needsNone) {
      assumed.push({ input: spec.name, choice: 'left out: it is optional', option: '--shape' });
      continue;
    }
    checkDims(model, spec);
    const shape = statedShape ? checkedShape(model, spec, statedShape) : spec.dims.map((dim) => (dim === -1 ? 1 : dim));
    if (!statedShape && spec.dims.includes(-1)) {
      if (spec.datatype !== 'BYTES') unsized.push(spec);
      assumed.push({
        input: spec.name,
        choice: `shape ${shapeText(shape)} for ${shapeText(spec.dims)}`,
        option: '--shape',
      });
    }
    const statedRange = options.integersByInput?.get(spec.name) ?? options.integersByInput?.get(OTHERS);
    const usualRange = options.kind === 'random' && !statedRange ? rangeByName(spec) : undefined;
    if (usualRange) {
      const { low, high } = usualRange;
      const values = low === high ? `${low}` : `${low} to ${high}`;
      assumed.push({ input: spec.name, choice: `values ${values}, by its name`, option: '--integers' });
    }
    tensors.push({ spec, shape, integers: statedRange ?? usualRange });
  }
  const bytes = tensors.reduce((sum, tensor) => sum + countBytes(tensor, options) * count, 0);
  checkSize(model, bytes, options.maxBytes ?? MAX_BYTES, tensors);
  const generate = ({ spec, shape, integers }: GeneratedTensor): SampleTensor => ({
    spec,
    shape,
    raw: tensorBytes(spec.datatype, countElements(shape), { ...options, ...(integers && { integers }) }, random),
  });
  // Shared by all samples.
  const shared = new Map(tensors.filter(({ spec }) => spec.isShapeTensor).map((tensor) => [tensor, generate(tensor)]));
  const samples = Array.from({ length: count }, () => ({
    place: model,
    inputs: tensors.map((tensor) => shared.get(tensor) ?? generate(tensor)),
  }));
  const isSized = inputs.some(({ name, dims }) => dims.includes(-1) && findStatedShape(shapes, name));
  return { samples, assumed, unsized: isSized ? [] : unsized };
}

const rangeByName = ({ name, datatype }: TensorSpec): IntegerRange | undefined =>
  numericType(datatype)?.kind === 'integer' ? RANGES_BY_NAME.find(([form]) => form.test(name))?.[1] : undefined;

/** The server may send anything. */
function checkDims(model: string, { name, dims }: TensorSpec): void {
  if (dims.every((dim) => Number.isSafeInteger(dim) && dim >= -1)) return;
  throw invalidInput(
    model,
    `the server says that input '${name}' has shape ${shapeText(dims)}`,
    'check its config on the server',
  );
}

/** A request is held in memory two or three times. */
const MAX_BYTES = 256 * BYTES_PER_MIB;

function countBytes({ spec, shape }: GeneratedTensor, { text, stringLength }: GeneratedValues): number {
  const textBytes =
    LENGTH_BYTES + (text === undefined ? (stringLength ?? DEFAULT_STRING_LENGTH) : Buffer.byteLength(text));
  return countElements(shape) * (numericType(spec.datatype)?.bytes ?? textBytes);
}

/** Before anything is made. */
function checkSize(model: string, bytes: number, maxBytes: number, tensors: readonly GeneratedTensor[]): void {
  if (bytes <= maxBytes) return;
  const mib = (count: number): string => formatFigure(count / BYTES_PER_MIB);
  const shapes = tensors.map(({ spec, shape }) => `'${spec.name}' ${shapeText(shape)}`);
  throw invalidInput(
    model,
    `one request of these shapes has ${mib(bytes)} MiB, and made-up values may have ${mib(maxBytes)} MiB: ${listed(shapes)}`,
    'choose a smaller --shape or batch, or give --max-input-size',
  );
}
