import { messageType } from '#triton/wire/proto.ts';
import type { Compression, InferRequest, OutputTensor, RequestParameter, RequestTensor } from '../types.ts';
import { compressed } from './compression.ts';
import { placeParameters } from './place-parameters.ts';

/**
 * Returns the request as the bytes of a `ModelInferRequest`; tensors that are not in shared memory
 * travel in `raw_input_contents`.
 */
export function encodeInferMessage(request: InferRequest): Buffer {
  const type = messageType('ModelInferRequest');
  const message = type.create({
    model_name: request.model,
    model_version: request.version,
    inputs: request.inputs.map(toInput),
    raw_input_contents: request.inputs.flatMap((input) => (input.shared ? [] : [input.raw])),
    ...(request.sharedOutputs && {
      outputs: request.sharedOutputs.map(({ name, shared }) => ({
        name,
        parameters: parameterMap(placeParameters(shared)),
      })),
    }),
    ...(request.parameters && { parameters: parameterMap(request.parameters) }),
  });
  const bytes = type.encode(message).finish();
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
}

const toInput = ({ name, datatype, shape, shared }: RequestTensor): object => ({
  name,
  datatype,
  shape,
  ...(shared && { parameters: parameterMap(placeParameters(shared)) }),
});

/** Returns the message after its gRPC prefix: the compression flag and the length. */
export function framed(message: Buffer, compression: Compression | undefined): Buffer {
  const payload = compression ? compressed(message, compression) : message;
  const body = Buffer.allocUnsafeSlow(5 + payload.length);
  body[0] = compression ? 1 : 0;
  body.writeUInt32BE(payload.length, 1);
  payload.copy(body, 5);
  return body;
}

const parameterFields = { bool: 'bool_param', int: 'int64_param', double: 'double_param', string: 'string_param' };

function parameterMap(parameters: readonly RequestParameter[]): object {
  return Object.fromEntries(parameters.map(({ name, type, value }) => [name, { [parameterFields[type]]: value }]));
}

/**
 * Returns the outputs of a `ModelInferResponse`. Throws on other bytes, or on an output without raw
 * values.
 */
export function decodeInferReply(bytes: Uint8Array): readonly OutputTensor[] {
  const { outputs, raw_output_contents } = messageType('ModelInferResponse').decode(bytes) as unknown as {
    readonly outputs: readonly {
      readonly name: string;
      readonly datatype: string;
      readonly shape: readonly unknown[];
    }[];
    readonly raw_output_contents: readonly Uint8Array[];
  };
  return outputs.map(({ name, datatype, shape }, index) => {
    const raw = raw_output_contents[index];
    if (!raw) throw new RangeError(`output '${name}' has no raw values`);
    return { name, datatype, raw, shape: shape.map(Number) };
  });
}
