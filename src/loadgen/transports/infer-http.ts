import type { InferRequest, OutputTensor, RequestHeader, RequestParameter, TransportOptions } from '../types.ts';
import { compressed } from './compression.ts';
import { jsonValues } from './json-tensors.ts';
import { placeParameters } from './place-parameters.ts';

/**
 * A KServe v2 infer call. With binary tensors: a JSON header, then the tensors' bytes in input
 * order.
 */
interface HttpInferCall {
  readonly path: string;
  /** Headers that describe how to read the body. */
  readonly headers: readonly RequestHeader[];
  readonly body: Buffer;
}

type CallForm = Pick<TransportOptions, 'compression' | 'tensorFormat'>;

/**
 * Encodes the call. Requests outputs in the same form as the inputs. Errors: UNSUPPORTED for values
 * that JSON cannot express.
 */
export function encodeInferCall(request: InferRequest, { compression, tensorFormat }: CallForm): HttpInferCall {
  const version = request.version === '' ? '' : `/versions/${segment(request.version)}`;
  const { headers, body } = tensorFormat === 'json' ? jsonBody(request) : binaryBody(request);
  return {
    path: `/v2/models/${segment(request.model)}${version}/infer`,
    headers: compression ? [...headers, { name: 'content-encoding', value: compression }] : headers,
    body: compression ? compressed(body, compression) : body,
  };
}

/** Names come from a server's JSON, which can hold half of a surrogate pair. */
const segment = (name: string): string => encodeURIComponent(name.toWellFormed());

type Body = Pick<HttpInferCall, 'headers' | 'body'>;

/** `Inference-Header-Content-Length` is the length of the JSON part, before any compression. */
function binaryBody({ inputs, parameters = [], sharedOutputs }: InferRequest): Body {
  const json = Buffer.from(
    JSON.stringify({
      inputs: inputs.map(({ name, datatype, shape, raw, shared }) => ({
        name,
        datatype,
        shape,
        parameters: shared ? parameterObject(placeParameters(shared)) : { binary_data_size: raw.byteLength },
      })),
      ...toOutputs(sharedOutputs),
      parameters: { ...parameterObject(parameters), binary_data_output: true },
    }),
  );
  return {
    headers: [
      { name: 'content-type', value: 'application/octet-stream' },
      { name: 'inference-header-content-length', value: String(json.byteLength) },
    ],
    body: Buffer.concat([json, ...inputs.flatMap((input) => (input.shared ? [] : [input.raw]))]),
  };
}

/** Joins the values as text, so that 64-bit values do not pass through a JavaScript number. */
function jsonBody({ inputs, parameters = [], sharedOutputs }: InferRequest): Body {
  const tensors = inputs.map((input) => {
    const { name, datatype, shape, shared } = input;
    if (shared) return JSON.stringify({ name, datatype, shape, parameters: parameterObject(placeParameters(shared)) });
    return `${JSON.stringify({ name, datatype, shape }).slice(0, -1)},"data":${jsonValues(input)}}`;
  });
  const more = JSON.stringify({
    ...toOutputs(sharedOutputs),
    ...(parameters.length > 0 && { parameters: parameterObject(parameters) }),
  }).slice(1, -1);
  return {
    headers: [{ name: 'content-type', value: 'application/json' }],
    body: Buffer.from(`{"inputs":[${tensors.join(',')}]${more && `,${more}`}}`),
  };
}

const toOutputs = (outputs: InferRequest['sharedOutputs']): object =>
  outputs
    ? { outputs: outputs.map(({ name, shared }) => ({ name, parameters: parameterObject(placeParameters(shared)) })) }
    : {};

const parameterObject = (parameters: readonly RequestParameter[]): object =>
  Object.fromEntries(parameters.map(({ name, value }) => [name, value]));

/**
 * Returns the outputs of an infer reply whose JSON part has `jsonBytes`; NaN if the JSON is the
 * whole reply. Throws on other bytes, or if an output is neither in binary form nor in shared
 * memory.
 */
export function readInferReply(
  body: Buffer,
  jsonBytes: number,
  shared: InferRequest['sharedOutputs'] = [],
): readonly OutputTensor[] {
  const jsonEnd = Number.isNaN(jsonBytes) ? body.length : jsonBytes;
  const json = JSON.parse(body.toString('utf8', 0, jsonEnd)) as {
    readonly outputs: readonly {
      readonly name: unknown;
      readonly datatype: unknown;
      readonly shape?: unknown;
      readonly parameters?: { readonly binary_data_size?: unknown };
    }[];
  };
  let at = jsonEnd;
  return json.outputs.map(({ name, datatype, shape = [], parameters }) => {
    if (typeof name !== 'string' || typeof datatype !== 'string' || !isShape(shape)) {
      throw new TypeError('an output without a name, a datatype or a shape');
    }
    if (shared.some((output) => output.name === name)) return { name, datatype, shape, raw: new Uint8Array() };
    const size = parameters?.binary_data_size;
    if (!isLength(size) || at + size > body.length) throw new RangeError(`output '${name}' has not the bytes it says`);
    at += size;
    return { name, datatype, shape, raw: body.subarray(at - size, at) };
  });
}

/** The server may have sent anything. */
const isLength = (value: unknown): value is number => Number.isSafeInteger(value) && (value as number) >= 0;
const isShape = (value: unknown): value is readonly number[] => Array.isArray(value) && value.every(isLength);

/** Returns the `error` field of a failed call's body, or the body itself if it is not such JSON. */
export function errorOfBody(body: string): string {
  try {
    const parsed: unknown = JSON.parse(body);
    if (typeof parsed === 'object' && parsed !== null && 'error' in parsed) return String(parsed.error);
  } catch {
    // Not Triton's JSON: a proxy's page, or a truncated body.
  }
  return body.trim();
}
