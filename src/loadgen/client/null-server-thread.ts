import { createServer, type Socket } from 'node:net';
import { parentPort, workerData } from 'node:worker_threads';
import { FrameReader } from '#http2/frame-reader.ts';
import {
  ACK,
  DATA,
  END_HEADERS,
  END_STREAM,
  frame,
  HEADERS,
  PING,
  RST_STREAM,
  SETTINGS,
  WINDOW_UPDATE,
} from '#http2/frames.ts';

/**
 * The thread behind `null-server.ts`: speaks the given protocol on a free loopback port, which it
 * reports to its starter.
 */

const PREFACE_BYTES = 24;
/**
 * Windows so wide that no client waits for one, and the amount received before the connection's
 * window is returned.
 */
const WIDEST_STREAM_WINDOW = Buffer.from('00047fffffff', 'hex');
const CONNECTION_WINDOW = 2 ** 30;
const GIVE_BACK_BYTES = 2 ** 28;

const STATUS_200 = Buffer.of(0x88);
const GRPC_OK = Buffer.concat([Buffer.of(0x00, 11), Buffer.from('grpc-status'), Buffer.of(1), Buffer.from('0')]);
/** An empty uncompressed message: every field of the reply has its default. */
const EMPTY_MESSAGE = Buffer.alloc(5);
const HTTP_REPLY = Buffer.from(
  'HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 2\r\n\r\n{}',
  'latin1',
);
const HEAD_END = '\r\n\r\n';

/** Pieces of text in a language model's answer. */
const PIECES = 64;
/** An event with the same meaning for clients of OpenAI and of Triton's `generate_stream`. */
const formatEvent = (number: number): string => {
  const isLast = number === PIECES - 1;
  const choice = { index: 0, delta: { content: ` ${number}` }, finish_reason: isLast ? 'length' : null };
  const usage = isLast ? { prompt_tokens: 1, completion_tokens: PIECES } : null;
  return `data: ${JSON.stringify({ id: 'null', text_output: ` ${number}`, choices: [choice], usage })}\n\n`;
};
const formatChunk = (text: string): string => `${Buffer.byteLength(text).toString(16)}\r\n${text}\r\n`;
const EVENTS_REPLY = Buffer.from(
  [
    'HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n',
    ...Array.from({ length: PIECES }, (_, number) => formatChunk(formatEvent(number))),
    formatChunk('data: [DONE]\n\n'),
    '0\r\n\r\n',
  ].join(''),
  'latin1',
);

const hasText = workerData === 'grpc-text';
const isStreaming = workerData === 'grpc-stream' || hasText;

const replyTo = (streamId: number): Buffer =>
  Buffer.concat([
    frame(HEADERS, END_HEADERS, streamId, STATUS_200),
    frame(DATA, 0, streamId, EMPTY_MESSAGE),
    frame(HEADERS, END_HEADERS | END_STREAM, streamId, GRPC_OK),
  ]);

/** A bytes field of a protobuf message. */
const field = (number: number, bytes: Buffer): Buffer =>
  Buffer.concat([Buffer.of((number << 3) | 2, bytes.length), bytes]);

/**
 * infer_response { parameters { key, value { bool_param } } }: says only that the request is over.
 */
const FINAL_MESSAGE = field(
  2,
  field(4, Buffer.concat([field(1, Buffer.from('triton_final_response')), field(2, Buffer.of(0x08, 1))])),
);
const FINAL_REPLY = Buffer.concat([Buffer.of(0, 0, 0, 0, FINAL_MESSAGE.length), FINAL_MESSAGE]);

/** infer_response { outputs { name, datatype }, raw_output_contents }: a text of one letter. */
const TEXT_MESSAGE = field(
  2,
  Buffer.concat([
    field(5, Buffer.concat([field(1, Buffer.from('text_output')), field(2, Buffer.from('BYTES'))])),
    field(6, Buffer.of(1, 0, 0, 0, 0x61)),
  ]),
);
const TEXT_REPLY = Buffer.concat([Buffer.of(0, 0, 0, 0, TEXT_MESSAGE.length), TEXT_MESSAGE]);
const STREAM_REPLY = hasText
  ? Buffer.concat([...Array.from({ length: PIECES }, () => TEXT_REPLY), FINAL_REPLY])
  : FINAL_REPLY;

/** Counts the messages on a stream. */
class MessageCounter {
  readonly #prefix = Buffer.alloc(EMPTY_MESSAGE.length);
  #prefixBytes = 0;
  #missing = 0;

  /** Returns the number of messages that end with these bytes. */
  push(bytes: Buffer, start: number, end: number): number {
    let ended = 0;
    for (let at = start; at < end; ) {
      if (this.#prefixBytes < this.#prefix.length) {
        this.#prefix[this.#prefixBytes++] = bytes[at++] as number;
        if (this.#prefixBytes < this.#prefix.length) continue;
        this.#missing = this.#prefix.readUInt32BE(1);
      }
      const taken = Math.min(this.#missing, end - at);
      this.#missing -= taken;
      at += taken;
      if (this.#missing > 0) continue;
      this.#prefixBytes = 0;
      ended++;
    }
    return ended;
  }
}

function widen(bytes: number): Buffer {
  const payload = Buffer.alloc(4);
  payload.writeUInt32BE(bytes);
  return frame(WINDOW_UPDATE, 0, 0, payload);
}

function serveGrpc(socket: Socket): void {
  const streams = new Map<number, MessageCounter>();
  const replies: Buffer[] = [frame(SETTINGS, 0, 0, WIDEST_STREAM_WINDOW), widen(CONNECTION_WINDOW)];
  let taken = 0;
  let prefaceLeft = PREFACE_BYTES;
  const reader = new FrameReader({
    data(streamId, bytes, start, end) {
      if (!isStreaming) return;
      let counter = streams.get(streamId);
      if (!counter) {
        counter = new MessageCounter();
        streams.set(streamId, counter);
        replies.push(frame(HEADERS, END_HEADERS, streamId, STATUS_200));
      }
      for (let ended = counter.push(bytes, start, end); ended > 0; ended--) {
        replies.push(frame(DATA, 0, streamId, STREAM_REPLY));
      }
    },
    dataEnd(streamId, flags, length) {
      taken += length;
      if ((flags & END_STREAM) === 0) return;
      replies.push(isStreaming ? frame(HEADERS, END_HEADERS | END_STREAM, streamId, GRPC_OK) : replyTo(streamId));
      streams.delete(streamId);
    },
    frame(type, flags, streamId, payload, start, end) {
      if (type === RST_STREAM) streams.delete(streamId);
      if ((flags & ACK) !== 0) return;
      if (type === SETTINGS) replies.push(frame(SETTINGS, ACK, 0, new Uint8Array(0)));
      if (type === PING) replies.push(frame(PING, ACK, 0, payload.subarray(start, end)));
    },
  });
  socket.on('data', (chunk) => {
    const skipped = Math.min(prefaceLeft, chunk.length);
    prefaceLeft -= skipped;
    reader.push(chunk.subarray(skipped), chunk.length - skipped);
    if (taken > GIVE_BACK_BYTES) {
      replies.push(widen(taken));
      taken = 0;
    }
    if (replies.length > 0) socket.write(Buffer.concat(replies));
    replies.length = 0;
  });
}

/** Our client sends only one request at a time on a connection, each with a content length. */
function serveHttp(socket: Socket): void {
  let head = '';
  let bodyLeft = 0;
  socket.on('data', (chunk) => {
    let at = 0;
    if (bodyLeft === 0) {
      head += chunk.toString('latin1');
      const end = head.indexOf(HEAD_END);
      if (end < 0) return;
      const before = head.length - chunk.length;
      at = end + HEAD_END.length - before;
      // Not the length of the JSON part, whose header name has the same ending.
      bodyLeft = Number(/\r\ncontent-length: *(\d+)/i.exec(head.slice(0, end))?.[1] ?? 0);
      head = '';
    }
    bodyLeft -= chunk.length - at;
    if (bodyLeft <= 0) {
      bodyLeft = 0;
      socket.write(workerData === 'events' ? EVENTS_REPLY : HTTP_REPLY);
    }
  });
}

const serve = workerData === 'http' || workerData === 'events' ? serveHttp : serveGrpc;
const server = createServer({ noDelay: true }, (socket) => {
  socket.on('error', () => socket.destroy());
  serve(socket);
});
server.listen(0, '127.0.0.1', () => {
  const address = server.address();
  if (address && typeof address === 'object') parentPort?.postMessage(address.port);
});
