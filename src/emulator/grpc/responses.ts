import protobuf from 'protobufjs';
import { chosenOutputs, type ModelSignature } from '../wire/infer-call.ts';
import type { TensorPlace } from '../wire/shared-memory.ts';
import { zeroTensor } from '../wire/tensors.ts';

/** The tag of a length-delimited field. */
const toTag = (field: number): number => (field << 3) | 2;

/**
 * Returns a ModelInferResponse with zero tensors, or with `text` in those of type BYTES, without
 * the request's id.
 */
export function writeInferResponse(
  signature: ModelSignature,
  version: string,
  batch: number,
  outputNames: readonly string[],
  outputPlaces: ReadonlyMap<string, TensorPlace>,
  text?: string,
): Buffer {
  const writer = protobuf.Writer.create();
  writer.uint32(toTag(1)).string(signature.model).uint32(toTag(2)).string(version);
  const outputs = chosenOutputs(signature, batch, outputNames);
  for (const output of outputs) {
    writer.uint32(toTag(5)).fork();
    writer.uint32(toTag(1)).string(output.name).uint32(toTag(2)).string(output.datatype);
    writer.uint32(toTag(3)).fork();
    for (const size of output.shape) writer.int64(size);
    writer.ldelim().ldelim();
  }
  // The real server returns empty bytes for outputs that it wrote into shared memory.
  for (const { name, datatype, shape } of outputs) {
    const values = text !== undefined && datatype === 'BYTES' ? textTensor(text) : zeroTensor(datatype, shape);
    writer.uint32(toTag(6)).bytes(outputPlaces.has(name) ? Buffer.alloc(0) : values);
  }
  const { buffer, byteOffset, length } = writer.finish();
  return Buffer.from(buffer, byteOffset, length);
}

/** One element of BYTES: its length in four bytes, little-endian, and the text. */
function textTensor(text: string): Buffer {
  const bytes = Buffer.from(text);
  const tensor = Buffer.alloc(4 + bytes.length);
  tensor.writeUInt32LE(bytes.length);
  bytes.copy(tensor, 4);
  return tensor;
}

/** Returns the same response with the request's id: protobuf accepts fields in any order. */
export function withRequestId(response: Buffer, id: string): Buffer {
  if (id === '') return response;
  return Buffer.concat([response, protobuf.Writer.create().uint32(toTag(3)).string(id).finish()]);
}

/** On a stream each response says whether it is the last one of its request. */
const finalParameter = (isFinal: boolean): Uint8Array => {
  const writer = protobuf.Writer.create().uint32(toTag(4)).fork();
  writer.uint32(toTag(1)).string('triton_final_response').uint32(toTag(2)).fork();
  return writer
    .uint32(1 << 3)
    .bool(isFinal)
    .ldelim()
    .ldelim()
    .finish();
};
const finality = { last: finalParameter(true), more: finalParameter(false) } as const;

/** Returns a ModelStreamInferResponse with that infer_response. */
export function streamResponse(response: Uint8Array, id: string, isFinal: boolean): Uint8Array {
  const parts = [withRequestId(Buffer.from(response), id), isFinal ? finality.last : finality.more];
  return protobuf.Writer.create().uint32(toTag(2)).bytes(Buffer.concat(parts)).finish();
}

/** Returns the response that ends a request to a decoupled model; it has only the model's name. */
export function emptyFinalResponse(model: string, id: string): Uint8Array {
  return streamResponse(protobuf.Writer.create().uint32(toTag(1)).string(model).finish(), id, true);
}

/** Returns a ModelStreamInferResponse with a failure; the stream continues. */
export function streamError(message: string, id: string): Uint8Array {
  const writer = protobuf.Writer.create().uint32(toTag(1)).string(message);
  return writer
    .uint32(toTag(2))
    .bytes(withRequestId(Buffer.alloc(0), id))
    .finish();
}
