import { createServer, type Socket } from 'node:net';
import { FrameReader } from '#http2/frame-reader.ts';
import { DATA, END_STREAM, HEADERS, PING, SETTINGS } from '#http2/frames.ts';

/**
 * A gRPC server that answers every call with the same small message and does next to nothing else,
 * so that a client is what limits a run against it. It listens on a free port of the loopback and
 * prints the port. With an argument it answers that many milliseconds late, so that many calls are
 * in flight.
 */
const holdMs = Number(process.argv[2] ?? 0);

const PREFACE_BYTES = 24;
const STATUS_200 = Buffer.of(0x88);
const GRPC_OK = Buffer.concat([Buffer.of(0x00, 11), Buffer.from('grpc-status'), Buffer.of(1), Buffer.from('0')]);
const MESSAGE = Buffer.alloc(5 + 64);
MESSAGE.writeUInt32BE(64, 1);

function frame(type: number, flags: number, streamId: number, payload: Uint8Array): Buffer {
  const bytes = Buffer.alloc(9 + payload.byteLength);
  bytes.writeUIntBE(payload.byteLength, 0, 3);
  bytes[3] = type;
  bytes[4] = flags;
  bytes.writeUInt32BE(streamId, 5);
  bytes.set(payload, 9);
  return bytes;
}

const answerTo = (streamId: number): Buffer =>
  Buffer.concat([
    frame(HEADERS, 0x4, streamId, STATUS_200),
    frame(DATA, 0, streamId, MESSAGE),
    frame(HEADERS, 0x5, streamId, GRPC_OK),
  ]);

function windowUpdate(bytes: number): Buffer {
  const payload = Buffer.alloc(4);
  payload.writeUInt32BE(bytes);
  return frame(0x8, 0, 0, payload);
}

function serve(socket: Socket): void {
  const answers: Buffer[] = [];
  let taken = 0;
  let preface = PREFACE_BYTES;
  const reader = new FrameReader({
    data: () => undefined,
    dataEnd(streamId, flags, length) {
      taken += length;
      if ((flags & END_STREAM) !== 0) answers.push(answerTo(streamId));
    },
    frame(type, flags, _, payload, start, end) {
      if ((flags & 1) !== 0) return;
      if (type === SETTINGS) answers.push(frame(SETTINGS, 1, 0, new Uint8Array(0)));
      if (type === PING) answers.push(frame(PING, 1, 0, payload.subarray(start, end)));
    },
  });
  socket.setNoDelay(true);
  socket.on('error', () => socket.destroy());
  socket.write(frame(SETTINGS, 0, 0, Buffer.from('00047fffffff', 'hex')));
  socket.write(windowUpdate(2 ** 30));
  socket.on('data', (chunk) => {
    const skipped = Math.min(preface, chunk.length);
    preface -= skipped;
    reader.push(chunk.subarray(skipped), chunk.length - skipped);
    if (taken > 2 ** 28) {
      answers.push(windowUpdate(taken));
      taken = 0;
    }
    if (answers.length === 0) return;
    const bytes = Buffer.concat(answers);
    answers.length = 0;
    if (holdMs === 0 || preface > 0 || bytes.length < MESSAGE.length) socket.write(bytes);
    else setTimeout(() => socket.write(bytes), holdMs);
  });
}

const server = createServer(serve);
server.listen(0, '127.0.0.1', () => {
  const address = server.address();
  if (address && typeof address === 'object') console.log(address.port);
});
