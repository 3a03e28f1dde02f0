import { chosenOutputs, type InferCall, type InferInput, type ModelSignature, placeIn } from './infer-call.ts';
import { ProtocolFailure } from './protocol-failure.ts';
import { sequenceIn } from './sequence-mark.ts';
import type { EncodedAnswer } from './servable.ts';
import { elementBytes, elementCount, zeroTensor } from './tensors.ts';

/** An infer call over HTTP, with what only HTTP asks: which outputs shall come as binary. */
export interface HttpInferCall extends InferCall {
  readonly binaryByDefault: boolean;
  readonly binaryByOutput: ReadonlyMap<string, boolean>;
}

interface TensorJson {
  readonly name?: unknown;
  readonly datatype?: unknown;
  readonly shape?: unknown;
  readonly data?: unknown;
  readonly parameters?: { readonly [key: string]: unknown };
}

interface RequestJson {
  readonly id?: unknown;
  readonly parameters?: { readonly [key: string]: unknown };
  readonly inputs?: readonly TensorJson[];
  readonly outputs?: readonly TensorJson[];
}

/**
 * Reads an infer body: JSON alone, or JSON of `headerLength` bytes with the binary tensors behind it. Tensors are
 * measured, not decoded. Throws INTERNAL for what is not such a body, INVALID_ARGUMENT for tensors cut short.
 */
export function readHttpInfer(
  model: string,
  version: string,
  body: Buffer,
  headerLength: number | undefined,
  signature: ModelSignature,
): HttpInferCall {
  if (headerLength === 0) return readRawInfer(version, body, signature);
  const json = parseHeader(headerLength === undefined ? body : body.subarray(0, headerLength));
  if (!Array.isArray(json.inputs)) throw new ProtocolFailure('INTERNAL', "Unable to find 'inputs' in JSON request");
  let left = headerLength === undefined ? 0 : body.length - headerLength;
  const inputs = json.inputs.map((tensor): InferInput => {
    const input = { name: String(tensor.name), datatype: String(tensor.datatype), shape: shapeOf(tensor) };
    const place = placeIn(tensor.parameters);
    if (place) return { ...input, size: { place } };
    const binary = tensor.parameters?.binary_data_size;
    if (binary === undefined) return { ...input, size: { elements: countValues(tensor.data) } };
    const expected = elementCount(input.shape) * (elementBytes(input.datatype) ?? 0);
    const given = Math.min(Number(binary), left);
    left -= given;
    if (given < Number(binary) || (expected > 0 && given !== expected)) {
      const more = Math.abs((expected || Number(binary)) - given);
      throw new ProtocolFailure(
        'INVALID_ARGUMENT',
        `unexpected size for input '${input.name}', expecting ${more} additional bytes for model '${model}'`,
      );
    }
    return { ...input, size: { bytes: given } };
  });
  const outputs = json.outputs ?? [];
  return {
    model,
    version,
    id: typeof json.id === 'string' ? json.id : '',
    inputs,
    outputs: outputs.map((output) => String(output.name)),
    sequence: sequenceIn(json.parameters),
    wantsEmptyFinal: false,
    outputPlaces: new Map(
      outputs.flatMap((output) => {
        const place = placeIn(output.parameters);
        return place ? [[String(output.name), place] as const] : [];
      }),
    ),
    binaryByDefault: json.parameters?.binary_data_output === true,
    binaryByOutput: new Map(
      outputs
        .filter((output) => typeof output.parameters?.binary_data === 'boolean')
        .map((output) => [String(output.name), output.parameters?.binary_data === true]),
    ),
  };
}

function parseHeader(bytes: Buffer): RequestJson {
  try {
    const json: unknown = JSON.parse(bytes.toString('utf8'));
    if (json !== null && typeof json === 'object') return json;
  } catch {
    // Told below, in the words for everything that is no JSON object.
  }
  throw new ProtocolFailure('INTERNAL', 'failed to parse the request JSON buffer');
}

function shapeOf(tensor: TensorJson): number[] {
  return Array.isArray(tensor.shape) ? tensor.shape.map(Number) : [];
}

/** A body of nothing but one tensor, for a model with one input; a batch of 1 when the model has batches. */
function readRawInfer(version: string, body: Buffer, { model, inputs, maxBatchSize }: ModelSignature): HttpInferCall {
  const [input] = inputs;
  if (!input || inputs.length > 1)
    throw new ProtocolFailure('INVALID_ARGUMENT', 'Raw request must only have 1 input (found 1) to be deduced');
  const bytes = elementBytes(input.datatype);
  const fixed = elementCount(input.shape.filter((size) => size > 0)) * (bytes ?? 0);
  const open = fixed > 0 ? Math.floor(body.length / fixed) : 1;
  const shape = input.shape.map((size, index) => (size >= 0 ? size : index === 0 && maxBatchSize > 0 ? 1 : open));
  return {
    ...{ model, version, id: '', outputs: [], outputPlaces: new Map(), sequence: null, wantsEmptyFinal: false },
    inputs: [{ name: input.name, datatype: input.datatype, shape, size: { bytes: body.length } }],
    binaryByDefault: true,
    binaryByOutput: new Map(),
  };
}

/** Values may come flat or nested like the shape. */
function countValues(data: unknown): number {
  if (!Array.isArray(data)) return data === undefined ? 0 : 1;
  return Array.isArray(data[0]) ? data.reduce((sum: number, part) => sum + countValues(part), 0) : data.length;
}

/** The answer with zero tensors of the output shapes. */
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
    return { ...output, data: Array.from({ length: elementCount(output.shape) }, () => zeroValue(output.datatype)) };
  });
  const id = call.id === '' ? {} : { id: call.id };
  const json = JSON.stringify({ ...id, model_name: signature.model, model_version: version, outputs });
  const header = Buffer.from(json);
  if (binaries.length === 0) return { body: header, headerLength: null };
  return { body: Buffer.concat([header, ...binaries]), headerLength: header.length };
}

export function zeroValue(datatype: string): number | string | boolean {
  if (datatype === 'BYTES') return '';
  return datatype === 'BOOL' ? false : 0;
}
