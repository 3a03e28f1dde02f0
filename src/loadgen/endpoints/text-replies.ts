import protobuf from 'protobufjs';
import { realClock } from '#base/clock.ts';
import { failed } from '../transports/outcome.ts';
import { readStreamReply, type StreamReplies, type StreamReply } from '../transports/stream-reply.ts';
import type { SendFailure, SendOutcome } from '../types.ts';
import { ReplyTiming } from './reply-timing.ts';
import type { StreamEvent } from './stream-event.ts';

const BYTES = 2;
/** A BYTES element is its length in four bytes, then the bytes. */
const LENGTH_BYTES = 4;
const INPUT_TOKENS = 'num_input_tokens';
const OUTPUT_TOKENS = 'num_output_tokens';

/**
 * Takes the responses of a text model on a stream: when each one with text arrived, and the model's
 * token counts.
 */
export class TextReplies implements StreamReplies {
  readonly #output: string;
  readonly #timing = new ReplyTiming(true);
  #responses = 0;

  /** `output`: the model's output with the text. */
  constructor(output: string) {
    this.#output = output;
  }

  begin(): void {
    this.#timing.begin(realClock.nowNs(), true);
    this.#responses = 0;
  }

  take(message: Buffer): StreamReply {
    return readStreamReply(message, (response) => this.#take(response));
  }

  outcome(): SendOutcome {
    const outcome = this.#timing.outcome();
    return outcome.ok ? { ...outcome, responses: this.#responses } : outcome;
  }

  unfinished(message: string): SendFailure {
    return failed('cut-off', message);
  }

  lost(why: SendFailure): SendFailure {
    return this.#timing.hasOutput ? failed('cut-off', `the stream was cut off in its output: ${why.message}`) : why;
  }

  #take(response: Uint8Array): void {
    const event = readTextResponse(response, this.#output);
    if (event === null) return;
    this.#responses++;
    this.#timing.take(event, realClock.nowNs());
  }
}

/**
 * Reads the text and the token counts of a `ModelInferResponse`: outputs are field 5, each with its
 * name in field 1; field 6 has the raw values in the same order. null without outputs, as in an
 * empty final response. Throws on bytes that are not such a message.
 */
export function readTextResponse(bytes: Uint8Array, output: string): StreamEvent | null {
  const names: string[] = [];
  const values: Uint8Array[] = [];
  const reader = protobuf.Reader.create(bytes);
  while (reader.pos < reader.len) {
    const tag = reader.uint32();
    if (tag === ((5 << 3) | BYTES)) names.push(formatName(reader.bytes()));
    else if (tag === ((6 << 3) | BYTES)) values.push(reader.bytes());
    else reader.skipType(tag & 7);
  }
  if (names.length === 0) return null;
  const findRaw = (name: string): Uint8Array | undefined => values[names.indexOf(name)];
  const text = textIn(findRaw(output));
  return {
    output: text,
    answer: text,
    isEnd: false,
    ...count('inputTokens', findRaw(INPUT_TOKENS)),
    ...count('outputTokens', findRaw(OUTPUT_TOKENS)),
  };
}

function formatName(tensor: Uint8Array): string {
  const reader = protobuf.Reader.create(tensor);
  while (reader.pos < reader.len) {
    const tag = reader.uint32();
    if (tag === ((1 << 3) | BYTES)) return reader.string();
    reader.skipType(tag & 7);
  }
  return '';
}

/** The strings of a BYTES tensor, joined. */
function textIn(raw: Uint8Array | undefined): string {
  if (raw === undefined) return '';
  const bytes = Buffer.from(raw.buffer, raw.byteOffset, raw.length);
  let text = '';
  for (let at = 0; at + LENGTH_BYTES <= bytes.length; ) {
    const end = at + LENGTH_BYTES + bytes.readUInt32LE(at);
    text += bytes.toString('utf8', at + LENGTH_BYTES, Math.min(end, bytes.length));
    at = end;
  }
  return text;
}

/** The first element of INT32 or UINT32 values, little-endian. */
function count<K extends 'inputTokens' | 'outputTokens'>(
  name: K,
  raw: Uint8Array | undefined,
): { readonly [F in K]?: number } {
  if (raw === undefined || raw.length < 4) return {};
  const value = new DataView(raw.buffer, raw.byteOffset, 4).getInt32(0, true);
  return value < 0 ? {} : ({ [name]: value } as { readonly [F in K]?: number });
}
