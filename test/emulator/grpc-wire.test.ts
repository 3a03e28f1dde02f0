import http2 from 'node:http2';
import { connect } from 'node:net';
import { gzipSync } from 'node:zlib';
import fc from 'fast-check';
import { describe, expect, it, onTestFinished } from 'vitest';
import { startGrpcServer } from '#emulator/grpc/front.ts';
import type { GrpcCall, GrpcMethods } from '#emulator/grpc/methods.ts';
import { ProtocolFailure } from '#emulator/wire/protocol-failure.ts';
import * as h2 from '#http2/frames.ts';
import { grpcFrame } from '../support/infer-servers.ts';

const WORDS = `no such thing: ${'é%\n'.repeat(2_500)}`;

/**
 * Sends every message back; `fail` ends with words, `late` answers when `release` is called,
 * `early` before its request is whole.
 */
const waiting: GrpcCall[] = [];
const methods: GrpcMethods = new Map([
  ['/t/echo', (call) => ({ message: (bytes) => call.send(bytes), done: () => call.end() })],
  ['/t/fail', (call) => ({ message: () => call.fail(new ProtocolFailure('NOT_FOUND', WORDS)), done: () => undefined })],
  [
    '/t/half',
    (call) => ({
      message: (bytes) => {
        call.send(bytes);
        call.fail(new ProtocolFailure('INTERNAL', 'half-way'));
      },
      done: () => undefined,
    }),
  ],
  ['/t/late', (call) => ({ message: () => waiting.push(call), done: () => undefined })],
]);

async function serve() {
  const server = await startGrpcServer(methods, '127.0.0.1', 0);
  onTestFinished(() => server.close());
  return server.port;
}

/** Node's HTTP/2 client, which others wrote. */
function clientOf(port: number, settings: http2.Settings = {}): http2.ClientHttp2Session {
  const session = http2.connect(`http://127.0.0.1:${port}`, { settings });
  session.on('error', () => undefined);
  onTestFinished(() => session.destroy());
  return session;
}

interface Reply {
  readonly status: number;
  readonly body: Buffer;
  readonly trailers: http2.IncomingHttpHeaders;
}

function call(
  session: http2.ClientHttp2Session,
  path: string,
  messages: readonly Buffer[],
  headers: http2.OutgoingHttpHeaders = {},
): Promise<Reply> {
  return new Promise((resolve, reject) => {
    const stream = session.request({
      ':method': 'POST',
      ':path': path,
      'content-type': 'application/grpc',
      ...headers,
    });
    const chunks: Buffer[] = [];
    let status = 0;
    let trailers: http2.IncomingHttpHeaders = {};
    stream.on('response', (fields) => {
      status = Number(fields[':status']);
      trailers = fields;
    });
    stream.on('trailers', (fields) => {
      trailers = fields;
    });
    stream.on('data', (chunk: Buffer) => chunks.push(chunk));
    stream.on('end', () => resolve({ status, body: Buffer.concat(chunks), trailers }));
    stream.on('error', reject);
    for (const message of messages) stream.write(message);
    stream.end();
  });
}

describe("the emulator's gRPC over Node's HTTP/2", () => {
  it.each([
    ['wide', {}],
    ['narrow', { initialWindowSize: 1000 }],
  ])('answers each message of a call, with %s windows of the client', async (_, settings) => {
    const session = clientOf(await serve(), settings);
    const messages = [1, 0, 70_000, 3_000_000].map((bytes) => grpcFrame(Buffer.alloc(bytes, bytes % 251)));
    const { status, body, trailers } = await call(session, '/t/echo', messages);
    expect(status).toBe(200);
    expect(body.equals(Buffer.concat(messages))).toBe(true);
    expect(trailers['grpc-status']).toBe('0');
  });

  it('keeps many calls of one connection apart', async () => {
    const session = clientOf(await serve());
    const replies = await Promise.all(
      Array.from({ length: 500 }, (_, n) => call(session, '/t/echo', [grpcFrame(Buffer.from(`${n}`))])),
    );
    expect(replies.map(({ body }) => body.subarray(5).toString())).toEqual(replies.map((_, n) => `${n}`));
  });

  it('unpacks what was compressed', async () => {
    const message = grpcFrame(gzipSync('hello'));
    message[0] = 1;
    const { body } = await call(clientOf(await serve()), '/t/echo', [message], { 'grpc-encoding': 'gzip' });
    expect(body.subarray(5).toString()).toBe('hello');
  });

  it('fails with words of any length, before an answer and after one', async () => {
    const session = clientOf(await serve(), { maxHeaderListSize: 2 ** 20 });
    const [failed, half, unknown] = await Promise.all([
      call(session, '/t/fail', [grpcFrame(Buffer.alloc(3))]),
      call(session, '/t/half', [grpcFrame(Buffer.alloc(3))]),
      call(session, '/t/none', []),
    ]);
    expect(failed.trailers['grpc-status']).toBe('5');
    expect(decodeURIComponent(String(failed.trailers['grpc-message']))).toBe(WORDS);
    expect(half).toMatchObject({ status: 200, trailers: { 'grpc-status': '13', 'grpc-message': 'half-way' } });
    expect(half.body).toHaveLength(8);
    expect(unknown.trailers['grpc-status']).toBe('12');
  });

  it('lets go of calls that their client gives up', async () => {
    const session = clientOf(await serve());
    const given = session.request({ ':method': 'POST', ':path': '/t/late' });
    given.on('error', () => undefined);
    given.write(grpcFrame(Buffer.alloc(1)));
    await expect.poll(() => waiting.length).toBe(1);
    given.close(http2.constants.NGHTTP2_CANCEL);
    expect((await call(session, '/t/echo', [grpcFrame(Buffer.alloc(1))])).body).toHaveLength(6);
    waiting[0]?.send(Buffer.alloc(9));
    waiting[0]?.end();
    expect((await call(session, '/t/echo', [grpcFrame(Buffer.alloc(2))])).body).toHaveLength(7);
  });
});

/**
 * What the server does with bytes that come from no client that is right in its head: all that it
 * sends until it closes.
 */
function sendRaw(port: number, ...bytes: Buffer[]): Promise<Buffer> {
  return new Promise((resolve) => {
    const socket = connect(port, '127.0.0.1');
    const chunks: Buffer[] = [];
    socket.on('data', (chunk) => chunks.push(chunk));
    socket.on('error', () => undefined);
    socket.on('close', () => resolve(Buffer.concat(chunks)));
    socket.write(Buffer.concat(bytes));
    onTestFinished(() => {
      socket.destroy();
    });
  });
}

const settings = h2.frame(h2.SETTINGS, 0, 0, Buffer.alloc(0));

describe('a client that breaks HTTP/2', () => {
  it.each([
    ['speaks something else', [Buffer.from('GET / HTTP/1.1\r\nhost: x\r\n\r\n')], 'PROTOCOL_ERROR'],
    ['sends data of a stream that it never opened', [h2.frame(h2.DATA, 0, 7, Buffer.alloc(3))], 'PROTOCOL_ERROR'],
    ['asks on a stream of the server', [h2.frame(h2.HEADERS, h2.END_HEADERS, 2, Buffer.of(0x82))], 'PROTOCOL_ERROR'],
    [
      'sends a block that is no HPACK',
      [h2.frame(h2.HEADERS, h2.END_HEADERS, 1, Buffer.of(0xff, 0xff, 0xff, 0x7f))],
      'COMPRESSION_ERROR',
    ],
    ['opens no window', [h2.windowUpdateFrame(0)], 'PROTOCOL_ERROR'],
    [
      'opens too much of one',
      [h2.windowUpdateFrame(h2.MAX_WINDOW), h2.windowUpdateFrame(h2.MAX_WINDOW)],
      'FLOW_CONTROL_ERROR',
    ],
    ['sends a PING of the wrong length', [h2.frame(h2.PING, 0, 0, Buffer.alloc(3))], 'FRAME_SIZE_ERROR'],
  ] as const)('is told so when it %s, and others are served', async (_, frames, code) => {
    const port = await serve();
    const isHttp2 = code !== 'PROTOCOL_ERROR' || frames[0].readUIntBE(0, 3) < 100;
    const greeting = isHttp2 ? [h2.CLIENT_MAGIC, settings] : [];
    const answer = await sendRaw(port, ...greeting, ...frames);
    const goAway = h2.goAwayFrame(code);
    expect(answer.subarray(-4)).toEqual(goAway.subarray(-4));
    expect((await call(clientOf(port), '/t/echo', [grpcFrame(Buffer.alloc(1))])).body).toHaveLength(6);
  });

  it('changes nothing for others, whatever it sends', async () => {
    const port = await serve();
    const frame = fc.tuple(
      fc.integer({ min: 0, max: 12 }),
      fc.integer({ min: 0, max: 255 }),
      fc.constantFrom(0, 1, 3, 5, 2 ** 31 - 1),
      fc.uint8Array({ maxLength: 40 }),
    );
    await fc.assert(
      fc.asyncProperty(fc.array(frame, { minLength: 1, maxLength: 8 }), async (frames) => {
        const bytes = frames.map(([type, flags, id, payload]) => h2.frame(type, flags, id, payload));
        const socket = connect(port, '127.0.0.1');
        socket.on('error', () => undefined);
        socket.end(Buffer.concat([h2.CLIENT_MAGIC, settings, ...bytes]));
        await new Promise((resolve) => socket.once('close', resolve).resume());
      }),
      { numRuns: 200 },
    );
    expect((await call(clientOf(port), '/t/echo', [grpcFrame(Buffer.alloc(1))])).body).toHaveLength(6);
  });
});
