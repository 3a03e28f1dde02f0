import { TrituneError } from '../base/errors.ts';
import { seededRandom } from '../base/random.ts';
import type { ModelConfig, TensorConfig } from '../triton/model-config.ts';
import type { ModelMetadata, TensorMetadata } from '../triton/types.ts';
import { tensorBytes, type ValueKind } from './tensor-values.ts';
import type { RequestSet, RequestTensor } from './types.ts';

export interface InputOptions {
  /** Samples in one request. */
  readonly batch: number;
  readonly seed: number;
  readonly kind: ValueKind;
  /** By input name, without the batch dimension: for inputs with dimensions of any size, and for optional inputs. */
  readonly shapes?: Readonly<Record<string, readonly number[]>>;
}

/** A choice that was made for the user, for the user to see. */
export interface AssumedInput {
  readonly input: string;
  readonly choice: string;
}

export interface PreparedInputs extends RequestSet {
  readonly assumed: readonly AssumedInput[];
}

/**
 * One request with generated values for every input that the model needs. A dimension of any size (-1) becomes 1 unless
 * `shapes` says otherwise, and optional inputs are left out unless `shapes` names them: `assumed` tells both.
 * Errors: INPUT_INVALID (a batch or shape that the model cannot take), UNSUPPORTED (an unknown data type).
 */
export function prepareInputs(metadata: ModelMetadata, config: ModelConfig, options: InputOptions): PreparedInputs {
  const batched = (config.max_batch_size ?? 0) > 0;
  checkBatch(metadata.name, config.max_batch_size ?? 0, options.batch);
  checkNames(metadata, options.shapes ?? {});
  const random = seededRandom(options.seed);
  const assumed: AssumedInput[] = [];
  const inputs: RequestTensor[] = [];
  for (const input of metadata.inputs) {
    const described = config.input?.find((candidate) => candidate.name === input.name);
    const given = options.shapes?.[input.name];
    if (described?.optional && !given) {
      assumed.push({ input: input.name, choice: 'left out: it is optional' });
      continue;
    }
    const hasBatchDimension = batched && !isShapeTensor(described);
    const dims = hasBatchDimension ? input.shape.slice(1) : input.shape;
    const sample = sampleShape(input, dims, given);
    if (!given && dims.includes(-1)) {
      assumed.push({ input: input.name, choice: `shape [${sample.join(', ')}] for [${dims.join(', ')}]` });
    }
    const shape = hasBatchDimension ? [options.batch, ...sample] : sample;
    const count = shape.reduce((product, dim) => product * dim, 1);
    const raw = tensorBytes(input.datatype, count, options.kind, random);
    inputs.push({ name: input.name, datatype: input.datatype, shape, raw });
  }
  const common = { model: metadata.name, version: '', batch: options.batch };
  return { ...common, requests: [{ ...common, inputs }], assumed };
}

/** Shape tensors carry one shape for the whole batch, so they have no batch dimension. */
const isShapeTensor = (input: TensorConfig | undefined): boolean => input?.is_shape_tensor === true;

function sampleShape(
  input: TensorMetadata,
  dims: readonly number[],
  given: readonly number[] | undefined,
): readonly number[] {
  if (!given) return dims.map((dim) => (dim === -1 ? 1 : dim));
  const whole = given.every((dim) => Number.isInteger(dim) && dim >= 0);
  const fits = given.length === dims.length && dims.every((dim, index) => dim === -1 || dim === given[index]);
  if (whole && fits) return given;
  throw invalid(
    `shape [${given.join(', ')}] does not fit input '${input.name}', which takes [${dims.join(', ')}]`,
    'give the shape without the batch dimension; -1 stands for any size',
  );
}

function checkBatch(model: string, maxBatchSize: number, batch: number): void {
  if (Number.isInteger(batch) && batch >= 1 && batch <= Math.max(maxBatchSize, 1)) return;
  throw invalid(
    maxBatchSize > 0
      ? `a batch of ${batch} does not fit '${model}', whose max_batch_size is ${maxBatchSize}`
      : `a batch of ${batch} does not fit '${model}', which does not batch`,
    `choose a whole number from 1 to ${Math.max(maxBatchSize, 1)}`,
  );
}

function checkNames(metadata: ModelMetadata, shapes: Readonly<Record<string, readonly number[]>>): void {
  const known = metadata.inputs.map((input) => input.name);
  const unknown = Object.keys(shapes).find((name) => !known.includes(name));
  if (unknown === undefined) return;
  throw invalid(
    `'${metadata.name}' has no input '${unknown}' to give a shape to`,
    `its inputs are ${known.join(', ') || 'none'}`,
  );
}

const invalid = (message: string, hint: string): TrituneError => new TrituneError('INPUT_INVALID', message, hint);
