import type { InferRequest, OutputTensor, RequestParameter } from '../types.ts';

/** A KServe v2 infer call with binary tensors: a JSON header, then the tensors' bytes in input order. */
interface HttpInferCall {
  readonly path: string;
  /** Value of `Inference-Header-Content-Length`: bytes of the JSON part. */
  readonly jsonBytes: number;
  readonly body: Buffer;
}

/** Encodes the call. All outputs are asked for in binary form. */
export function encodeInferCall(request: InferRequest): HttpInferCall {
  const json = Buffer.from(
    JSON.stringify({
      inputs: request.inputs.map(({ name, datatype, shape, raw }) => ({
        name,
        datatype,
        shape,
        parameters: { binary_data_size: raw.byteLength },
      })),
      parameters: { ...parameterObject(request.parameters ?? []), binary_data_output: true },
    }),
  );
  const version = request.version === '' ? '' : `/versions/${encodeURIComponent(request.version)}`;
  return {
    path: `/v2/models/${encodeURIComponent(request.model)}${version}/infer`,
    jsonBytes: json.byteLength,
    body: Buffer.concat([json, ...request.inputs.map((input) => input.raw)]),
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
