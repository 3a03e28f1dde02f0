import { connect } from 'node:net';
import { FrameReader } from '#http2/frame-reader.ts';

/** A frame, header and payload. */
export function h2Frame(
  type: number,
  flags: number,
  streamId: number,
  payload: Uint8Array = new Uint8Array(0),
): Buffer {
  const bytes = Buffer.alloc(9 + payload.byteLength);
  bytes.writeUIntBE(payload.byteLength, 0, 3);
  bytes[3] = type;
  bytes[4] = flags;
  bytes.writeUInt32BE(streamId, 5);
  bytes.set(payload, 9);
  return bytes;
}

const PREFACE = Buffer.from('PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n');
/** GET http / with authority 'h', in HPACK. */
const GET = Uint8Array.of(0x82, 0x86, 0x84, 0x41, 0x01, 0x68);

/**
 * The header blocks of `count` responses of an HTTP/2 server, as they were on the wire, one request
 * after another.
 */
export async function rawH2Get(port: number, count: number): Promise<Buffer[]> {
  const blocks: Buffer[] = [];
  const socket = connect(port, '127.0.0.1');
  const ask = (): boolean => socket.write(h2Frame(1, 0x5, 1 + 2 * blocks.length, GET));
  await new Promise<void>((resolve, reject) => {
    const reader = new FrameReader({
      data: () => undefined,
      dataEnd: () => undefined,
      frame(type, flags, _, payload, start, end) {
        if (type === 4 && (flags & 1) === 0) socket.write(h2Frame(4, 1, 0));
        if (type !== 1) return;
        if ((flags & 0x2c) !== 0x4) reject(new Error('a header block in a form that this client does not know'));
        blocks.push(Buffer.from(payload.subarray(start, end)));
        if (blocks.length === count) resolve();
        else ask();
      },
    });
    socket.on('data', (chunk) => reader.push(chunk, chunk.length));
    socket.on('error', reject);
    socket.write(Buffer.concat([PREFACE, h2Frame(4, 0, 0)]));
    ask();
  });
  socket.destroy();
  return blocks;
}
