import type { EncodedAnswer } from '../models/answer-cache.ts';
import { sequenceIn } from '../scheduling/sequence-mark.ts';
import { chosenOutputs, type InferCall, type InferInput, type ModelSignature, placeIn } from '../wire/infer-call.ts';
import { ProtocolFailure } from '../wire/protocol-failure.ts';
import { elementBytes, elementCount, zeroTensor } from '../wire/tensors.ts';
import { countIn, listIn, notA, parseBodyJson, textIn } from './request.ts';

/** An infer call over HTTP, with HTTP's own option: the outputs to return in binary form. */
export interface HttpInferCall extends InferCall {
  readonly binaryByDefault: boolean;
  readonly binaryByOutput: ReadonlyMap<string, boolean>;
}

interface Fields {
  readonly [key: string]: unknown;
}

/**
 * Reads an infer body: JSON alone, or JSON of `headerLength` bytes followed by the binary tensors.
 * Measures tensors without decoding them. Throws INTERNAL for any other body, INVALID_ARGUMENT for
 * truncated tensors.
 */
export function readHttpInfer(
  model: string,
  version: string,
  body: Buffer,
  headerLength: number | undefined,
  signature: ModelSignature,
): HttpInferCall {
  if (headerLength === 0) return readRawInfer(version, body, signature);
  const json = parseBodyJson(headerLength === undefined ? body : body.subarray(0, headerLength));
  if (!Array.isArray(json.inputs)) throw new ProtocolFailure('INTERNAL', "Unable to find 'inputs' in JSON request");
  let left = headerLength === undefined ? 0 : body.length - headerLength;
  const inputs = json.inputs.map((item): InferInput => {
    const tensor = fieldsIn(item);
    const input = {
      name: textIn(tensor.name),
      datatype: textIn(tensor.datatype),
      shape: tensor.shape === undefined ? [] : listIn(tensor.shape).map(sizeIn),
    };
    const parameters = fieldsIn(tensor.parameters ?? {});
    const place = placeIn(parameters);
    if (place) return { ...input, size: { place } };
    if (parameters.binary_data_size === undefined) return { ...input, size: { elements: countValues(tensor.data) } };
    const binary = countIn(parameters.binary_data_size);
    const expected = elementCount(input.shape) * (elementBytes(input.datatype) ?? 0);
    const size = Math.min(binary, left);
    left -= size;
    if (size < binary || (expected > 0 && size !== expected)) {
      const more = Math.abs((expected || binary) - size);
      throw new ProtocolFailure(
        'INVALID_ARGUMENT',
        `unexpected size for input '${input.name}', expecting ${more} additional bytes for model '${model}'`,
      );
    }
    return { ...input, size: { bytes: size } };
  });
  if (left > 0) throw new ProtocolFailure('INVALID_ARGUMENT', `unexpected additional input data for model '${model}'`);
  const outputs = listIn(json.outputs ?? []).map((item) => {
    const { name, parameters } = fieldsIn(item);
    return { name: textIn(name), parameters: fieldsIn(parameters ?? {}) };
  });
  const parameters = fieldsIn(json.parameters ?? {});
  return {
    model,
    version,
    id: typeof json.id === 'string' ? json.id : '',
    inputs,
    outputs: outputs.map(({ name }) => name),
    sequence: sequenceIn(parameters),
    wantsEmptyFinal: false,
    outputPlaces: new Map(
      outputs.flatMap((output) => {
        const place = placeIn(output.parameters);
        return place ? [[output.name, place] as const] : [];
      }),
    ),
    binaryByDefault: parameters.binary_data_output === true,
    binaryByOutput: new Map(
      outputs
        .filter((output) => typeof output.parameters.binary_data === 'boolean')
        .map((output) => [output.name, output.parameters.binary_data === true]),
    ),
  };
}

function fieldsIn(value: unknown): Fields {
  if (value === null || typeof value !== 'object') throw notA('object');
  return value as Fields;
}

function sizeIn(value: unknown): number {
  if (!Number.isSafeInteger(value)) throw notA('integer');
  return value as number;
}

/**
 * Reads a body that is just one tensor, for a model with one input; the batch is 1 if the model has
 * batches.
 */
function readRawInfer(version: string, body: Buffer, { model, inputs, maxBatchSize }: ModelSignature): HttpInferCall {
  const [input] = inputs;
  if (!input || inputs.length > 1)
    throw new ProtocolFailure('INVALID_ARGUMENT', 'Raw request must only have 1 input (found 1) to be deduced');
  const bytes = elementBytes(input.datatype);
  const fixed = elementCount(input.shape.filter((size) => size > 0)) * (bytes ?? 0);
  const open = fixed > 0 ? Math.floor(body.length / fixed) : 1;
  const shape = input.shape.map((size, index) => (size >= 0 ? size : index === 0 && maxBatchSize > 0 ? 1 : open));
  return {
    model,
    version,
    id: '',
    outputs: [],
    outputPlaces: new Map(),
    sequence: null,
    wantsEmptyFinal: false,
    inputs: [{ name: input.name, datatype: input.datatype, shape, size: { bytes: body.length } }],
    binaryByDefault: true,
    binaryByOutput: new Map(),
  };
}

/** Values may be flat or nested like the shape. */
function countValues(data: unknown): number {
  if (!Array.isArray(data)) return data === undefined ? 0 : 1;
  return Array.isArray(data[0]) ? data.reduce((sum: number, part) => sum + countValues(part), 0) : data.length;
}

/** Returns the answer with zero tensors of the output shapes. */
export function writeHttpInfer(
  signature: ModelSignature,
  version: string,
  batch: number,
  call: HttpInferCall,
): EncodedAnswer {
  const binaries: Buffer[] = [];
  const outputs = chosenOutputs(signature, batch, call.outputs).map((output) => {
    if (call.outputPlaces.has(output.name)) return output;
    if (call.binaryByOutput.get(output.name) ?? call.binaryByDefault) {
      const raw = zeroTensor(output.datatype, output.shape);
      binaries.push(raw);
      return { ...output, parameters: { binary_data_size: raw.length } };
    }
    return { ...output, data: zeroValues(output) };
  });
  const id = call.id === '' ? {} : { id: call.id };
  const json = JSON.stringify({ ...id, model_name: signature.model, model_version: version, outputs });
  const header = Buffer.from(json);
  if (binaries.length === 0) return { body: header, headerLength: null };
  return { body: Buffer.concat([header, ...binaries]), headerLength: header.length };
}

/** In JSON form a value takes tens of bytes before it becomes text. */
const MAX_VALUES = 2 ** 24;

/** Returns a zero tensor as JSON. Throws INTERNAL if it would exceed any memory. */
export function zeroValues({ datatype, shape }: { readonly datatype: string; readonly shape: readonly number[] }) {
  const length = elementCount(shape);
  if (length > MAX_VALUES) throw new ProtocolFailure('INTERNAL', `failed to write ${length} values as JSON`);
  const value = datatype === 'BYTES' ? '' : datatype === 'BOOL' ? false : 0;
  return Array.from({ length }, () => value);
}
