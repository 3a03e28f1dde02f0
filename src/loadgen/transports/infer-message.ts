import { messageType } from '../../triton/proto.ts';
import type { InferRequest } from '../types.ts';

/** The request as the bytes of a `ModelInferRequest`; tensors travel in `raw_input_contents`. */
export function encodeInferMessage(request: InferRequest): Buffer {
  const type = messageType('ModelInferRequest');
  const message = type.create({
    model_name: request.model,
    model_version: request.version,
    inputs: request.inputs.map(({ name, datatype, shape }) => ({ name, datatype, shape })),
    raw_input_contents: request.inputs.map((input) => input.raw),
  });
  const bytes = type.encode(message).finish();
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
}
