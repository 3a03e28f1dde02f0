import protobuf from 'protobufjs';
import type { ReplyOutputs, SendFailure, SendOutcome } from '../types.ts';
import { decodeInferReply } from './infer-message.ts';
import { failed } from './outcome.ts';

/** Takes the replies on a stream, for one request after another. */
export interface StreamReplies {
  /** Starts a request that is being sent. */
  begin(): void;
  /**
   * Reads a message, which is valid only until it returns. Throws on bytes that are not a reply.
   */
  take(message: Buffer): StreamReply;
  /** Returns the outcome of a request whose final response has arrived. */
  outcome(): SendOutcome;
  /** Returns the outcome of a request whose stream ended before its final response. */
  unfinished(message: string): SendFailure;
  /** Returns the outcome of a request whose connection was lost for this reason. */
  lost(why: SendFailure): SendFailure;
}

/** The usual outcome on a stream of a model with one response: no object per request. */
const SENT_ONE: SendOutcome = Object.freeze({ ok: true, responses: 1 });

/** Counts the responses. */
export class PlainReplies implements StreamReplies {
  #responses = 0;

  begin(): void {
    this.#responses = 0;
  }

  take(message: Buffer): StreamReply {
    const reply = readStreamReply(message);
    if (reply.hasOutputs) this.#responses++;
    return reply;
  }

  outcome(): SendOutcome {
    return this.#responses === 1 ? SENT_ONE : { ok: true, responses: this.#responses };
  }

  unfinished(message: string): SendFailure {
    return failed('malformed', message);
  }

  lost(why: SendFailure): SendFailure {
    return why;
  }
}

/** Keeps the outputs of the responses. */
export class ReadReplies implements StreamReplies {
  #replies: ReplyOutputs[] = [];

  begin(): void {
    this.#replies = [];
  }

  take(message: Buffer): StreamReply {
    let response: Uint8Array = message;
    const reply = readStreamReply(message, (bytes) => {
      response = bytes;
    });
    // The message is valid only until this returns.
    if (reply.hasOutputs) this.#replies.push(decodeInferReply(Buffer.from(response)));
    return reply;
  }

  outcome(): SendOutcome {
    return { ok: true, responses: this.#replies.length, replies: this.#replies };
  }

  unfinished(message: string): SendFailure {
    return failed('malformed', message);
  }

  lost(why: SendFailure): SendFailure {
    return why;
  }
}

/** The part of a `ModelStreamInferResponse` that the client needs. */
export interface StreamReply {
  /** Not empty if the request failed. */
  readonly error: string;
  /** True for the last message of a request that asked for `triton_final_response`. */
  readonly isFinal: boolean;
  /** True if it has an output; a final response may have none and only mark the end. */
  readonly hasOutputs: boolean;
}

const BYTES = 2;
const FINAL = 'triton_final_response';
/** Flags of a response. */
const IS_FINAL = 1;
const HAS_OUTPUTS = 2;
/** Indexed by flags: no object per reply. */
const replies: readonly StreamReply[] = [0, IS_FINAL, HAS_OUTPUTS, IS_FINAL | HAS_OUTPUTS].map((flags) =>
  Object.freeze({ error: '', isFinal: (flags & IS_FINAL) !== 0, hasOutputs: (flags & HAS_OUTPUTS) !== 0 }),
);

/**
 * Reads only what it must, so that large outputs cost nothing: error_message is field 1,
 * infer_response field 2; inside the latter the map of parameters is field 4 and the outputs field
 * 5. Throws on bytes that are not such a message. `onResponse` takes the bytes of the
 * infer_response.
 */
export function readStreamReply(bytes: Uint8Array, onResponse: (response: Uint8Array) => void = nobody): StreamReply {
  const reader = protobuf.Reader.create(bytes);
  let error = '';
  let flags = 0;
  while (reader.pos < reader.len) {
    const tag = reader.uint32();
    if (tag === ((1 << 3) | BYTES)) error = reader.string();
    else if (tag === ((2 << 3) | BYTES)) {
      const length = reader.uint32();
      flags |= readResponse(reader, length);
      onResponse(bytes.subarray(reader.pos - length, reader.pos));
    } else reader.skipType(tag & 7);
  }
  const reply = replies[flags] as StreamReply;
  return error === '' ? reply : { ...reply, error };
}

const nobody = (): void => undefined;

/** Reads the flags of an infer_response of this length in bytes. */
function readResponse(reader: protobuf.Reader, length: number): number {
  const end = reader.pos + length;
  if (end > reader.len) throw new RangeError('a response is longer than its message');
  let flags = 0;
  while (reader.pos < end) {
    const tag = reader.uint32();
    if (tag === ((5 << 3) | BYTES)) flags |= HAS_OUTPUTS;
    if (tag === ((4 << 3) | BYTES)) flags |= readParameter(reader, reader.uint32()) ? IS_FINAL : 0;
    else reader.skipType(tag & 7);
  }
  return flags;
}

/** Reads one entry of the map: key is field 1, value field 2, and its bool_param field 1. */
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
