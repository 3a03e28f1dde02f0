import type { Socket } from 'node:net';
import fc from 'fast-check';
import { afterEach, describe, expect, it } from 'vitest';
import { FrameReader, type FrameSink } from '#http2/frame-reader.ts';
import { ProtocolError } from '#http2/frames.ts';
import { HeaderBlocks } from '#http2/header-blocks.ts';
import { HpackDecoder } from '#http2/hpack-decoder.ts';
import { openGrpcLean } from '#loadgen/transports/grpc-lean.ts';
import { openGrpcStream } from '#loadgen/transports/grpc-stream.ts';
import { RequestHeaders } from '#loadgen/transports/h2-request-headers.ts';
import type { SendOutcome, Transport } from '#loadgen/types.ts';
import { damagedBytes, FUZZ_TIMEOUT_MS, fuzz, fuzzAsync, inPieces } from '../support/fuzz.ts';
import { type MisbehavingServer, startRaw } from '../support/misbehaving-server.ts';
import { h2Frame } from '../support/raw-h2.ts';
import * as h2 from '../support/scripted-h2.ts';
import { inferRequest, send } from '../support/transport-suite.ts';
import { soundH2 } from './parsers/sound-replies.ts';

/** What the work gives; undefined where the peer has broken HTTP/2. */
function protocolOr<T>(work: () => T): T | undefined {
  try {
    return work();
  } catch (error) {
    if (!(error instanceof ProtocolError)) throw error;
    return undefined;
  }
}

const streamId = fc.constantFrom(0, 1, 1, 1, 3, 2, 99, 2 ** 31 - 1);
const payload = fc.uint8Array({ maxLength: 40 });
const anyFrame = fc
  .tuple(fc.integer({ min: 0, max: 11 }), fc.integer({ min: 0, max: 255 }), streamId, payload)
  .map(([type, flags, id, bytes]) => h2Frame(type, flags, id, bytes));
/** Good frames, damaged ones and any others, in a row. */
const conversation = fc
  .array(fc.oneof(damagedBytes(soundH2), anyFrame, fc.constantFrom(...soundH2)), { minLength: 1, maxLength: 4 })
  .map((parts) => Buffer.concat(parts));

describe('frames of a hostile server', () => {
  /** What reaches the sink, DATA joined; and how it ended. */
  function framesOf(bytes: Buffer, lengths: readonly number[]): readonly string[] {
    const seen: string[] = [];
    let data = '';
    const sink: FrameSink = {
      frame: (type, flags, id, chunk, start, end) =>
        void seen.push(`${type} ${flags} ${id} ${chunk.toString('hex', start, end)}`),
      data: (_, chunk, start, end) => {
        data += chunk.toString('hex', start, end);
      },
      dataEnd: (id, flags, length) => {
        seen.push(`data ${flags} ${id} ${length} ${data}`);
        data = '';
      },
    };
    const reader = new FrameReader(sink);
    // As on a connection: a buffer that is lent, with the remains of earlier reads behind its end.
    const lent = Buffer.alloc(4096, 0xff);
    const isGood = protocolOr(() => {
      for (const piece of inPieces(bytes, lengths)) {
        piece.copy(lent);
        reader.push(lent, piece.length);
      }
      return true;
    });
    return isGood ? seen : [...seen, 'broken'];
  }

  it('are refused by the length that they say, before it has come', () => {
    for (const type of [h2.DATA, h2.HEADERS, h2.SETTINGS, 0x42]) {
      const frame = h2Frame(type, 0, 1);
      frame.writeUIntBE(0xff_ffff, 0, 3);
      expect(framesOf(frame, [1])).toEqual(['broken']);
    }
  });
});

describe('header blocks of a hostile server', () => {
  const blocks = [
    Buffer.of(0x88),
    Buffer.concat([Buffer.of(0x88, 0x40, 1), Buffer.from('a'), Buffer.of(2), Buffer.from('bc'), Buffer.of(0xbe)]),
    Buffer.concat([Buffer.of(0x3f, 0xe1, 0x1f, 0x20), h2.field('grpc-status', '0')]),
    Buffer.concat([Buffer.of(0x00, 0x8a), Buffer.from('9acac8b21234da8f0789', 'hex')]),
    Buffer.of(0x7f, 0xff, 0xff, 0xff, 0xff, 0x7f),
  ];

  it('say what our own headers say', { timeout: FUZZ_TIMEOUT_MS }, () => {
    const text = fc.string({ unit: 'binary-ascii', maxLength: 200 });
    fuzz(
      fc.tuple(fc.array(fc.tuple(text, text), { maxLength: 6 }), fc.constantFrom(0, 100, 4096)),
      ([fields, size]) => {
        const encoder = new RequestHeaders(fields);
        const decoder = new HpackDecoder();
        for (let block = 0; block < 3; block++) {
          if (block === 1) encoder.peerTableSize(size);
          const seen: [string, string][] = [];
          const bytes = encoder.next();
          decoder.decode(bytes, 0, bytes.length, { field: (name, value) => void seen.push([name, value]) });
          expect(seen).toEqual(fields);
        }
      },
    );
  });

  it('put together from frames are decoded or refused', { timeout: FUZZ_TIMEOUT_MS }, () => {
    const part = fc.tuple(fc.integer({ min: 0, max: 63 }), fc.constantFrom(1, 1, 1, 3), damagedBytes(blocks));
    fuzz(fc.array(part, { minLength: 1, maxLength: 4 }), (parts) => {
      const headers = new HeaderBlocks();
      protocolOr(() => {
        for (const [flags, id, bytes] of parts) {
          const isWhole = headers.isOpen
            ? headers.extend(flags, id, bytes, 0, bytes.length)
            : headers.open(flags, id, bytes, 0, bytes.length);
          if (isWhole) headers.decode({ field: () => undefined });
        }
      });
    });
  });
});

let server: MisbehavingServer | undefined;
let transport: Transport | undefined;
afterEach(async () => {
  await transport?.close();
  await server?.close();
});

/**
 * A server that says its settings, and then what `speak` does at the first request; and what our
 * client makes of it.
 */
async function toOutcome(
  speak: (socket: Socket) => void,
  open: (options: { url: string; timeoutMs: number }) => Transport = openGrpcLean,
): Promise<SendOutcome> {
  server = await startRaw((socket) => {
    socket.write(h2.settingsFrame());
    socket.once('data', () => speak(socket));
  });
  transport = open({ url: server.url, timeoutMs: 10_000 });
  return send(transport);
}

/** Says it again and again, as fast as it is taken, until the client hangs up. */
function forEver(socket: Socket, bytes: Buffer): void {
  const many = Buffer.concat(Array.from({ length: Math.ceil(65_536 / bytes.length) }, () => bytes));
  const goOn = (): void => {
    if (socket.writable && socket.write(many)) setImmediate(goOn);
  };
  socket.on('drain', goOn);
  goOn();
}

describe('our HTTP/2 clients, against a server that goes on for ever', () => {
  it.each<[string, Buffer, Buffer]>([
    ['empty CONTINUATION frames', h2Frame(h2.HEADERS, 0, 1), h2Frame(h2.CONTINUATION, 0, 1)],
    ['CONTINUATION frames of a byte', h2Frame(h2.HEADERS, 0, 1), h2Frame(h2.CONTINUATION, 0, 1, Buffer.of(0x88))],
    ['long CONTINUATION frames', h2Frame(h2.HEADERS, 0, 1), h2Frame(h2.CONTINUATION, 0, 1, Buffer.alloc(16_000, 0x88))],
    ['a header block of a mebibyte', h2Frame(h2.HEADERS, 0x4, 1, Buffer.alloc(2 ** 20, 0x88)), Buffer.alloc(0)],
    ['windows', Buffer.alloc(0), h2.windowUpdate(0, 2 ** 30)],
    ['windows of a stream', Buffer.alloc(0), h2.windowUpdate(1, 2 ** 31 - 1)],
    ['data before headers', Buffer.alloc(0), h2Frame(h2.DATA, 0, 1, Buffer.alloc(100))],
    ['headers of streams that were never opened', Buffer.alloc(0), h2Frame(h2.HEADERS, 0x5, 7, h2.STATUS_200)],
    ['padding longer than its frame', Buffer.alloc(0), h2Frame(h2.DATA, 0x8, 1, Buffer.of(9, 1))],
    ['padding without its length', Buffer.alloc(0), h2Frame(h2.DATA, 0x8, 1)],
  ])('of %s: the request ends as malformed', async (_, first, again) => {
    const outcome = await toOutcome((socket) => {
      socket.write(first);
      if (again.length > 0) forEver(socket, again);
    });
    expect(outcome).toMatchObject({ ok: false, kind: 'malformed' });
  });

  it.each<[string, Buffer]>([
    ['PINGs', h2Frame(h2.PING, 0, 0, Buffer.alloc(8))],
    ['SETTINGS', h2.settingsFrame()],
  ])('of %s, and takes no answer: the connection is given up', async (_, frame) => {
    const outcome = await toOutcome((socket) => {
      socket.pause();
      forEver(socket, frame);
    });
    expect(outcome).toMatchObject({ ok: false, kind: 'malformed', message: expect.stringContaining('takes none') });
  });

  it('of PINGs, and takes the answers: the request goes well all the same', async () => {
    const pings = Buffer.concat(Array.from({ length: 3000 }, () => h2Frame(h2.PING, 0, 0, Buffer.alloc(8))));
    const outcome = await toOutcome((socket) => {
      socket.resume();
      socket.write(pings, () => socket.write(h2.okResponse(1)));
    });
    expect(outcome).toEqual({ ok: true });
  });

  it('keeps nothing of a header list that one entry of the table makes long', async () => {
    const entry = Buffer.concat([
      Buffer.of(0x40, 1),
      Buffer.from('x'),
      Buffer.of(0x7f, 0xa1, 0x1e),
      Buffer.alloc(4000, 'v'),
    ]);
    const bomb = Buffer.concat([h2.STATUS_200, entry, Buffer.alloc(60_000, 0xbe)]);
    const before = process.memoryUsage().heapUsed;
    const outcome = await toOutcome((socket) => {
      socket.write(Buffer.concat([h2Frame(h2.HEADERS, 0x4, 1, bomb), h2.okMessage(1), h2.trailers(1)]));
    });
    expect(outcome).toEqual({ ok: true });
    expect(process.memoryUsage().heapUsed - before).toBeLessThan(100 * 2 ** 20);
  });

  it.each([0x7fff_ffff, 0x8000_0000, 0xffff_ffff])(
    'of a message of %d bytes keeps what comes, no more',
    async (length) => {
      const prefix = Buffer.concat([Buffer.of(0), h2.uint32(length)]);
      const before = process.memoryUsage().arrayBuffers;
      const speak = (socket: Socket): void => {
        socket.write(
          Buffer.concat([h2.okHeaders(1), h2Frame(h2.DATA, 0, 1, prefix), h2Frame(h2.DATA, 0, 1, Buffer.alloc(9))]),
        );
        socket.end();
      };
      expect(await toOutcome(speak)).toMatchObject({ ok: false });
      await transport?.close();
      await server?.close();
      expect(await toOutcome(speak, openGrpcStream)).toMatchObject({
        ok: false,
        kind: 'malformed',
        message: expect.stringContaining('longer than is read'),
      });
      expect(process.memoryUsage().arrayBuffers - before).toBeLessThan(100 * 2 ** 20);
    },
  );
});

describe('any server that breaks off', () => {
  const open = { unary: openGrpcLean, stream: openGrpcStream };

  it.each(['unary', 'stream'] as const)(
    'leaves no %s request without its end',
    { timeout: FUZZ_TIMEOUT_MS },
    async (kind) => {
      let script: Buffer = Buffer.alloc(0);
      server = await startRaw((socket) => {
        socket.write(h2.settingsFrame());
        socket.once('data', () => socket.end(script));
        socket.on('data', () => undefined);
        socket.on('end', () => socket.destroy());
      });
      const { url } = server;
      await fuzzAsync(
        conversation,
        async (bytes) => {
          script = bytes;
          // Each its own: after a connection that came to nothing a client waits before it makes
          // another.
          const client: Transport = open[kind]({ url, timeoutMs: 50 });
          const prepared = client.prepare(inferRequest(20));
          const outcome = await new Promise<SendOutcome>((done) => client.send(prepared, done));
          await client.close();
          if (!outcome.ok) expect(outcome.message).not.toBe('');
        },
        0.5,
      );
    },
  );
});
