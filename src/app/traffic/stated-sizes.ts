import { TrituneError } from '#base/errors.ts';
import { listed, plainLine } from '#base/format.ts';
import { isJsonObject } from '#base/json.ts';
import { typedLine } from '#base/shell-words.ts';
import { shapeText } from '#loadgen/input-data/shapes.ts';
import type { TensorSpec } from '#loadgen/input-data/tensor-spec.ts';
import type { PreparedInputs } from '#loadgen/inputs.ts';
import type { ModelConfig } from '#triton/config/model-config.ts';

/** The side of ImageNet's usual crop (Krizhevsky and others, 2012). */
const PICTURE_SIDE = 224;
/** A usual length of BERT's inputs in benchmarks (MLPerf's and NVIDIA's examples). */
const TOKENS = 128;
const CHANNELS = [1, 3, 4];
const SHOWN = 'tritune trace shows those of a trace of level TENSORS';
/** Longer names of inputs are not repeated in options to type. */
const MAX_NAME = 100;

/**
 * Checks that no request of a size that nobody sends is measured. Errors: INPUT_INVALID,
 * with sizes to begin with, if every dimension of any size would be 1.
 */
export function requireSizes({ unsized }: Pick<PreparedInputs, 'unsized'>, config: ModelConfig): void {
  if (unsized.length === 0) return;
  const inputs = unsized.map(({ name, dims }) => plainLine(`'${name}' ${shapeText(dims)}`));
  const proposed = unsized.map((spec) => proposeShape(spec, config));
  throw new TrituneError(
    'INPUT_INVALID',
    `'${config.name}' takes inputs of any size, and no size is stated: ${listed(inputs)}`,
    proposed.every((each) => each !== null)
      ? `give the sizes of production's requests: ${proposed.join(' ')}, or --input-data with real ones; ${SHOWN}`
      : `give the sizes of production's requests: --shape NAME:D1,D2, or --input-data with real ones; ${SHOWN}`,
  );
}

/** Returns an option with a likely shape; null if the model has no hint of one. */
function proposeShape(spec: TensorSpec, config: ModelConfig): string | null {
  const shape = findWarmUpShape(spec, config) ?? guessShape(spec);
  if (shape === null || spec.name.length > MAX_NAME) return null;
  return typedLine(['--shape', `${spec.name}:${shape.join(',')}`]);
}

function findWarmUpShape({ name, dims }: TensorSpec, { model_warmup: entries }: ModelConfig): readonly number[] | null {
  if (!Array.isArray(entries)) return null;
  for (const entry of entries) {
    const inputs = isJsonObject(entry) && isJsonObject(entry.inputs) ? entry.inputs : {};
    const input = Object.hasOwn(inputs, name) ? inputs[name] : null;
    const shape = isJsonObject(input) && Array.isArray(input.dims) ? input.dims.map(Number) : [];
    if (shape.length === dims.length && shape.every((size) => Number.isSafeInteger(size) && size > 0)) return shape;
  }
  return null;
}

function guessShape({ dims, datatype }: TensorSpec): readonly number[] | null {
  const sample = dims.slice(-3);
  const isPicture = sample.length === 3 && [sample[0], sample[2]].some((size) => CHANNELS.includes(size as number));
  const isTokens = /^U?INT(32|64)$/.test(datatype) && sample.length <= 2 && dims.at(-1) === -1;
  if (!isPicture && !isTokens) return null;
  const size = isPicture ? PICTURE_SIDE : TOKENS;
  const first = dims.length - (isPicture ? 3 : 1);
  return dims.map((dim, index) => (dim === -1 ? (index < first ? 1 : size) : dim));
}
