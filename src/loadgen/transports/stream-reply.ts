import protobuf from 'protobufjs';

/** What a client must know of a `ModelStreamInferResponse`. */
export interface StreamReply {
  /** Not empty when the request failed. */
  readonly error: string;
  /** True for the last message of a request that asked for `triton_final_response`. */
  readonly isFinal: boolean;
}

const BYTES = 2;
const FINAL = 'triton_final_response';
const MORE: StreamReply = Object.freeze({ error: '', isFinal: false });
const LAST: StreamReply = Object.freeze({ error: '', isFinal: true });

/**
 * Reads only what it must, so that large outputs cost nothing: error_message is field 1, infer_response field 2, and in
 * that the map of parameters field 4. Throws on bytes that are no such message.
 */
export function readStreamReply(bytes: Uint8Array): StreamReply {
  const reader = protobuf.Reader.create(bytes);
  let error = '';
  let isFinal = false;
  while (reader.pos < reader.len) {
    const tag = reader.uint32();
    if (tag === ((1 << 3) | BYTES)) error = reader.string();
    else if (tag === ((2 << 3) | BYTES)) isFinal = readResponse(reader, reader.uint32()) || isFinal;
    else reader.skipType(tag & 7);
  }
  if (error !== '') return { error, isFinal };
  return isFinal ? LAST : MORE;
}

/** Whether the infer_response, of so many bytes, says that it is the final one. */
function readResponse(reader: protobuf.Reader, length: number): boolean {
  const end = reader.pos + length;
  if (end > reader.len) throw new RangeError('a response is longer than its message');
  let isFinal = false;
  while (reader.pos < end) {
    const tag = reader.uint32();
    if (tag === ((4 << 3) | BYTES)) isFinal = readParameter(reader, reader.uint32()) || isFinal;
    else reader.skipType(tag & 7);
  }
  return isFinal;
}

/** One entry of the map: key is field 1, value field 2, and of that bool_param field 1. */
function readParameter(reader: protobuf.Reader, length: number): boolean {
  const end = reader.pos + length;
  let key = '';
  let value = false;
  while (reader.pos < end) {
    const tag = reader.uint32();
    if (tag === ((1 << 3) | BYTES)) {
      key = reader.string();
    } else if (tag === ((2 << 3) | BYTES)) {
      const valueEnd = reader.uint32() + reader.pos;
      while (reader.pos < valueEnd) {
        const field = reader.uint32();
        if (field === 1 << 3) value = reader.bool();
        else reader.skipType(field & 7);
      }
    } else {
      reader.skipType(tag & 7);
    }
  }
  return key === FINAL && value;
}
