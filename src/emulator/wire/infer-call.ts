import type { ModelConfig } from '#triton/config/model-config.ts';
import type { TensorMetadata } from '#triton/types.ts';
import type { SequenceMark } from '../scheduling/sequence-mark.ts';
import { ProtocolFailure, requestTag } from './protocol-failure.ts';
import type { TensorPlace } from './shared-memory.ts';
import { elementBytes, elementCount, tensorBytes, tensorMetadata } from './tensors.ts';

/** The parts of an inference request that the emulator reads: never the values of a tensor. */
export interface InferCall {
  readonly model: string;
  readonly version: string;
  readonly id: string;
  readonly inputs: readonly InferInput[];
  /** Names; empty asks for all outputs. */
  readonly outputs: readonly string[];
  /** The place in shared memory for each output, by name. */
  readonly outputPlaces: ReadonlyMap<string, TensorPlace>;
  readonly sequence: SequenceMark | null;
  /** For a language model: the text to answer. Undefined if the inputs hold no text. */
  readonly text?: TextCall | undefined;
  /**
   * True on a stream whose client wants a decoupled model to mark the end with a final response
   * without outputs.
   */
  readonly wantsEmptyFinal: boolean;
}

/** A text to answer, over any protocol. */
export interface TextCall {
  /** The messages, in order. */
  readonly texts: readonly string[];
  /** null: as long as there is room. */
  readonly maxTokens: number | null;
  readonly minTokens: number;
  /** The answer continues to `maxTokens` whatever the model says. */
  readonly ignoresEnd: boolean;
  /** Texts that end the answer and are not part of it. */
  readonly stops: readonly string[];
  /** One response per token, otherwise one for all. */
  readonly isStream: boolean;
}

export interface InferInput {
  readonly name: string;
  readonly datatype: string;
  readonly shape: readonly number[];
  /** The size of its content: bytes if raw, elements if typed, a place in shared memory. */
  readonly size: { readonly bytes: number } | { readonly elements: number } | { readonly place: TensorPlace };
}

/** The expectations for requests to one loaded config. */
export interface ModelSignature {
  readonly model: string;
  readonly maxBatchSize: number;
  readonly inputs: readonly (TensorMetadata & { readonly optional: boolean })[];
  readonly outputs: readonly TensorMetadata[];
}

export function toSignature(model: string, config: ModelConfig): ModelSignature {
  const optional = new Set(config.input?.filter((tensor) => tensor.optional).map((tensor) => tensor.name));
  return {
    model,
    maxBatchSize: config.max_batch_size ?? 0,
    inputs: tensorMetadata(config, config.input).map((input) => ({ ...input, optional: optional.has(input.name) })),
    outputs: tensorMetadata(config, config.output),
  };
}

/**
 * Returns the request's client batch (1 for a model without batching). Throws INVALID_ARGUMENT in
 * Triton's manner.
 */
export function checkedBatch(signature: ModelSignature, call: InferCall): number {
  for (const input of call.inputs) checkSize(input);
  try {
    return readBatch(signature, call);
  } catch (error) {
    if (!(error instanceof ProtocolFailure)) throw error;
    throw new ProtocolFailure(error.status, `${requestTag(call.id)}${error.message}`);
  }
}

function readBatch(signature: ModelSignature, call: InferCall): number {
  checkInputNames(signature, call);
  let batch = 0;
  for (const input of call.inputs) {
    const expected = signature.inputs.find((candidate) => candidate.name === input.name) as TensorMetadata;
    checkTensor(signature, input, expected);
    if (signature.maxBatchSize === 0) continue;
    const ownBatch = input.shape[0] as number;
    if (batch !== 0 && ownBatch !== batch)
      refuse(`input '${input.name}' batch size does not match other inputs for '${signature.model}'`);
    batch = ownBatch;
  }
  if (batch > signature.maxBatchSize)
    refuse(`inference request batch-size must be <= ${signature.maxBatchSize} for '${signature.model}'`);
  for (const name of call.outputs) {
    if (!signature.outputs.some((output) => output.name === name))
      refuse(`unexpected inference output '${name}' for model '${signature.model}'`);
  }
  return Math.max(1, batch);
}

function checkInputNames(signature: ModelSignature, call: InferCall): void {
  const required = signature.inputs.filter((input) => !input.optional).length;
  const count = call.inputs.length;
  if (count < required || count > signature.inputs.length) {
    const quoted = (names: readonly string[]): string => names.map((name) => `'${name}'`).join(',');
    const statedNames = call.inputs.map(({ name }) => name);
    const missing = signature.inputs.filter(({ name, optional }) => !optional && !statedNames.includes(name));
    refuse(
      `expected ${signature.inputs.length} inputs but got ${count} inputs for model '${signature.model}'. ` +
        `Got input(s) [${quoted(statedNames)}], but missing required input(s) [${quoted(missing.map(({ name }) => name))}]. ` +
        'Please provide all required input(s).',
    );
  }
  const twice = call.inputs.find(({ name }, index) => call.inputs.findIndex((other) => other.name === name) !== index);
  if (twice) refuse(`input '${twice.name}' already exists in request`);
  const unknown = call.inputs.find((input) => !signature.inputs.some((expected) => expected.name === input.name));
  if (unknown) refuse(`unexpected inference input '${unknown.name}' for model '${signature.model}'`);
}

function checkTensor(signature: ModelSignature, input: InferInput, expected: TensorMetadata): void {
  if (input.datatype !== expected.datatype) {
    refuse(
      `inference input '${input.name}' data-type is '${input.datatype}', but model '${signature.model}' ` +
        `expects '${expected.datatype}'`,
    );
  }
  if (!fits(input.shape, expected.shape)) {
    refuse(
      `unexpected shape for input '${input.name}' for model '${signature.model}'. ` +
        `Expected [${expected.shape.join(',')}], got [${input.shape.join(',')}]`,
    );
  }
  const bytes = elementBytes(input.datatype);
  if (!('place' in input.size) || bytes === null) return;
  const [expectedBytes, { byteSize }] = [elementCount(input.shape) * bytes, input.size.place];
  if (byteSize !== expectedBytes)
    refuse(
      `input byte size mismatch for input '${input.name}' for model '${signature.model}'. ` +
        `Expected ${expectedBytes}, got ${byteSize}`,
    );
}

/** The front end's check before the model's: the number of values must match the shape. */
function checkSize({ name, datatype, shape, size }: InferInput): void {
  const elements = elementCount(shape);
  const bytes = elementBytes(datatype);
  if ('elements' in size && size.elements !== elements)
    refuse(`unexpected number of elements ${size.elements} for input '${name}', expecting ${elements}`);
  if ('bytes' in size && bytes !== null && size.bytes !== elements * bytes)
    refuse(`unexpected total byte size ${size.bytes} for input '${name}', expecting ${elements * bytes}`);
}

function fits(shape: readonly number[], expected: readonly number[]): boolean {
  return (
    shape.length === expected.length &&
    shape.every((size, index) => (expected[index] === -1 ? size > 0 : size === expected[index]))
  );
}

function refuse(message: string): never {
  throw new ProtocolFailure('INVALID_ARGUMENT', message);
}

/**
 * Returns the outputs to send, with their whole shapes: starting with the client's batch, and 1 for
 * each size that the config leaves open.
 */
export function chosenOutputs(
  signature: ModelSignature,
  batch: number,
  names: readonly string[],
): { name: string; datatype: string; shape: number[] }[] {
  return signature.outputs
    .filter((output) => names.length === 0 || names.includes(output.name))
    .map(({ name, datatype, shape }) => ({
      name,
      datatype,
      shape: shape.map((size, index) => (index === 0 && signature.maxBatchSize > 0 ? batch : Math.max(1, size))),
    }));
}

/**
 * Returns the place in a tensor's parameters; undefined if its values are sent. Missing numbers are
 * 0. Throws INVALID_ARGUMENT for an invalid name or number of bytes.
 */
export function placeIn(parameters: { readonly [name: string]: unknown } | undefined): TensorPlace | undefined {
  const region = parameters?.shared_memory_region;
  if (parameters === undefined || region === undefined) return undefined;
  if (typeof region !== 'string') refuse("invalid value type for 'shared_memory_region' parameter, expected a string");
  const bytesAt = (name: string): number => {
    const bytes = parameters[name] ?? 0;
    if (typeof bytes === 'number' && Number.isSafeInteger(bytes) && bytes >= 0) return bytes;
    return refuse(`invalid value for '${name}' parameter, expected a number of bytes`);
  };
  return { region, byteSize: bytesAt('shared_memory_byte_size'), offset: bytesAt('shared_memory_offset') };
}

/** An answer is copied several times before it is sent. */
const MAX_ANSWER_BYTES = 2 ** 29;

/** Throws INTERNAL if the outputs exceed any answer: a config may state any size. */
export function checkAnswerSize(signature: ModelSignature, batch: number, names: readonly string[]): void {
  const bytes = chosenOutputs(signature, batch, names).reduce((sum, output) => sum + tensorBytes(output), 0);
  if (bytes <= MAX_ANSWER_BYTES) return;
  throw new ProtocolFailure('INTERNAL', `failed to allocate ${bytes} bytes for the outputs of '${signature.model}'`);
}
