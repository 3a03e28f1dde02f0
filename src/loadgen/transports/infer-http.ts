import type { InferRequest, OutputTensor, RequestHeader, RequestParameter, TransportOptions } from '../types.ts';
import { compressed } from './compression.ts';
import { jsonValues } from './json-tensors.ts';

/** A KServe v2 infer call. With binary tensors it is a JSON header, then the tensors' bytes in input order. */
interface HttpInferCall {
  readonly path: string;
  /** Those that tell how the body is to be read. */
  readonly headers: readonly RequestHeader[];
  readonly body: Buffer;
}

type CallForm = Pick<TransportOptions, 'compression' | 'tensorFormat'>;

/** Encodes the call. Outputs are asked for in the form of the inputs. Errors: UNSUPPORTED for values that JSON has no form for. */
export function encodeInferCall(request: InferRequest, { compression, tensorFormat }: CallForm): HttpInferCall {
  const version = request.version === '' ? '' : `/versions/${encodeURIComponent(request.version)}`;
  const { headers, body } = tensorFormat === 'json' ? jsonBody(request) : binaryBody(request);
  return {
    path: `/v2/models/${encodeURIComponent(request.model)}${version}/infer`,
    headers: compression ? [...headers, { name: 'content-encoding', value: compression }] : headers,
    body: compression ? compressed(body, compression) : body,
  };
}

type Body = Pick<HttpInferCall, 'headers' | 'body'>;

/** `Inference-Header-Content-Length` is the length of the JSON part, before any compression. */
function binaryBody({ inputs, parameters = [] }: InferRequest): Body {
  const json = Buffer.from(
    JSON.stringify({
      inputs: inputs.map(({ name, datatype, shape, raw }) => ({
        name,
        datatype,
        shape,
        parameters: { binary_data_size: raw.byteLength },
      })),
      parameters: { ...parameterObject(parameters), binary_data_output: true },
    }),
  );
  return {
    headers: [
      { name: 'content-type', value: 'application/octet-stream' },
      { name: 'inference-header-content-length', value: String(json.byteLength) },
    ],
    body: Buffer.concat([json, ...inputs.map((input) => input.raw)]),
  };
}

/** The values are joined as text: those of 64 bits do not go through a number of JavaScript's. */
function jsonBody({ inputs, parameters = [] }: InferRequest): Body {
  const tensors = inputs.map((input) => {
    const { name, datatype, shape } = input;
    return `${JSON.stringify({ name, datatype, shape }).slice(0, -1)},"data":${jsonValues(input)}}`;
  });
  const more = parameters.length > 0 ? `,"parameters":${JSON.stringify(parameterObject(parameters))}` : '';
  return {
    headers: [{ name: 'content-type', value: 'application/json' }],
    body: Buffer.from(`{"inputs":[${tensors.join(',')}]${more}}`),
  };
}

const parameterObject = (parameters: readonly RequestParameter[]): object =>
  Object.fromEntries(parameters.map(({ name, value }) => [name, value]));

/**
 * The outputs of an infer reply, whose JSON part has `jsonBytes`. Throws on what is no such reply, or has an output that
 * is not in binary form.
 */
export function readInferReply(body: Buffer, jsonBytes: number): readonly OutputTensor[] {
  const json = JSON.parse(body.toString('utf8', 0, jsonBytes)) as {
    readonly outputs: readonly {
      readonly name: string;
      readonly datatype: string;
      readonly parameters?: { readonly binary_data_size?: number };
    }[];
  };
  let at = jsonBytes;
  return json.outputs.map(({ name, datatype, parameters }) => {
    const size = parameters?.binary_data_size ?? Number.NaN;
    if (!(size >= 0 && at + size <= body.length)) throw new RangeError(`output '${name}' has not the bytes it says`);
    at += size;
    return { name, datatype, raw: body.subarray(at - size, at) };
  });
}

/** The `error` field of a failed call's body, or the body itself when it is no such JSON. */
export function errorOfBody(body: string): string {
  try {
    const parsed: unknown = JSON.parse(body);
    if (typeof parsed === 'object' && parsed !== null && 'error' in parsed) return String(parsed.error);
  } catch {
    // Not Triton's JSON: a proxy's page, or a cut body.
  }
  return body.trim();
}
