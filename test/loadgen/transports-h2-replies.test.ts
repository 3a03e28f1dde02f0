import { afterEach, describe, expect, it } from 'vitest';
import { openGrpcLean } from '#loadgen/transports/grpc-lean.ts';
import type { Transport } from '#loadgen/types.ts';
import { grpcFrame, inferResponse } from '../support/infer-servers.ts';
import { h2Frame } from '../support/raw-h2.ts';
import * as h2 from '../support/scripted-h2.ts';
import { inferRequest, send, sendMany, until } from '../support/transport-suite.ts';

let server: h2.ScriptedServer;
let transport: Transport;

/** Answers the first request with `reply` and every later one well. */
async function startReplying(reply: Buffer, greeting?: Buffer): Promise<void> {
  let first = true;
  server = await h2.startScripted({
    ...(greeting ? { greeting } : {}),
    onFrame(peer, frame) {
      if (!h2.endsRequest(frame)) return;
      peer.write(first ? reply : h2.okResponse(frame.streamId));
      first = false;
    },
  });
  transport = openGrpcLean({ url: server.url, timeoutMs: 5000 });
}

afterEach(async () => {
  await transport.close();
  await server.close();
});

const { HEADERS, DATA, CONTINUATION, STATUS_200, field, okHeaders, okMessage, trailers } = h2;
const status = Buffer.concat([field('grpc-status', '0'), field('grpc-message', '')]);
const message = grpcFrame(inferResponse(40));

describe('our HTTP/2 client, answers that are good', () => {
  it.each<[string, Buffer[]]>([
    ['a plain one', [h2.okResponse(1)]],
    [
      'trailers in three frames',
      [
        okHeaders(1),
        okMessage(1),
        h2Frame(HEADERS, 0x1, 1, status.subarray(0, 3)),
        h2Frame(CONTINUATION, 0, 1, status.subarray(3, 9)),
        h2Frame(CONTINUATION, 0x4, 1, status.subarray(9)),
      ],
    ],
    [
      'headers with padding and priority',
      [
        h2Frame(HEADERS, 0x2c, 1, Buffer.concat([Buffer.of(2, 0, 0, 0, 0, 16), STATUS_200, Buffer.alloc(2)])),
        okMessage(1),
        trailers(1),
      ],
    ],
    [
      'padded data',
      [okHeaders(1), h2Frame(DATA, 0x8, 1, Buffer.concat([Buffer.of(9), message, Buffer.alloc(9)])), trailers(1)],
    ],
    [
      'a byte of data in each frame',
      [okHeaders(1), ...Array.from(message, (byte) => h2Frame(DATA, 0, 1, Buffer.of(byte))), trailers(1)],
    ],
    ['an empty message', [okHeaders(1), h2Frame(DATA, 0, 1, Buffer.alloc(5)), h2Frame(DATA, 0, 1), trailers(1)]],
    [
      'frames of unknown types between',
      [
        h2Frame(0x42, 0xff, 1, Buffer.alloc(30)),
        okHeaders(1),
        h2Frame(0x11, 0, 0),
        okMessage(1),
        h2Frame(0x42, 0, 3),
        trailers(1),
      ],
    ],
    ['an early hint before', [h2Frame(HEADERS, 0x4, 1, field(':status', '103')), h2.okResponse(1)]],
    ['a window of the stream that grows', [h2.windowUpdate(1, 1000), h2.okResponse(1), h2.windowUpdate(1, 5)]],
    ['a reset behind the end', [h2.okResponse(1), h2Frame(h2.RST_STREAM, 0, 1, h2.uint32(0))]],
  ])('takes %s', async (_, frames) => {
    await startReplying(Buffer.concat(frames));
    expect(await send(transport)).toEqual({ ok: true });
    expect(await send(transport)).toEqual({ ok: true });
    expect(server.connections()).toBe(1);
  });
});

describe('our HTTP/2 client, answers that fail one request', () => {
  const onlyTrailers = (...fields: Buffer[]): Buffer =>
    h2Frame(HEADERS, 0x5, 1, Buffer.concat([STATUS_200, ...fields]));
  it.each<[string, Buffer, object]>([
    [
      'a status in trailers only',
      onlyTrailers(field('grpc-status', '5'), field('grpc-message', 'no %C3%BC %zz')),
      { kind: 'status', status: 'NOT_FOUND', message: 'no ü %zz' },
    ],
    [
      'a status behind a message',
      Buffer.concat([okHeaders(1), okMessage(1), trailers(1, '13')]),
      { kind: 'status', status: 'INTERNAL', message: 'INTERNAL' },
    ],
    [
      'an HTTP status of a proxy',
      h2Frame(HEADERS, 0x5, 1, field(':status', '503')),
      { kind: 'status', status: 'UNAVAILABLE', message: 'Received HTTP status code 503' },
    ],
    [
      "a proxy's page",
      Buffer.concat([h2Frame(HEADERS, 0x4, 1, field(':status', '404')), h2Frame(DATA, 1, 1, Buffer.alloc(99))]),
      { kind: 'status', status: 'UNIMPLEMENTED', message: 'Received HTTP status code 404' },
    ],
    [
      'a reset',
      h2Frame(h2.RST_STREAM, 0, 1, h2.uint32(7)),
      { kind: 'reset', message: 'the server reset the stream: REFUSED_STREAM' },
    ],
    ['no status', Buffer.concat([okHeaders(1), h2Frame(DATA, 1, 1, message)]), { kind: 'malformed' }],
    ['a status that is no number', onlyTrailers(field('grpc-status', 'zero')), { kind: 'malformed' }],
    ['OK without a message', onlyTrailers(field('grpc-status', '0')), { kind: 'malformed' }],
    [
      'OK with two messages',
      Buffer.concat([okHeaders(1), okMessage(1), okMessage(1), trailers(1)]),
      { kind: 'malformed' },
    ],
    [
      'OK with half a message',
      Buffer.concat([okHeaders(1), h2Frame(DATA, 0, 1, message.subarray(0, 20)), trailers(1)]),
      { kind: 'malformed' },
    ],
    [
      'OK with a compressed message',
      Buffer.concat([okHeaders(1), h2Frame(DATA, 0, 1, Buffer.of(1, 0, 0, 0, 0)), trailers(1)]),
      { kind: 'malformed' },
    ],
    ['data before headers', Buffer.concat([h2Frame(DATA, 0, 1, message), h2.okResponse(1)]), { kind: 'malformed' }],
    [
      'headers in the middle',
      Buffer.concat([okHeaders(1), okHeaders(1), okMessage(1), trailers(1)]),
      { kind: 'malformed' },
    ],
  ])('%s', async (_, reply, outcome) => {
    await startReplying(reply);
    expect(await send(transport)).toMatchObject({ ok: false, ...outcome });
    expect(await send(transport)).toEqual({ ok: true });
    expect(server.connections()).toBe(1);
  });

  it('ends a request whose body the server does not want to see', async () => {
    server = await h2.startScripted({
      greeting: h2.settingsFrame([4, 0]),
      onFrame(peer, frame) {
        if (frame.type === HEADERS) peer.write(h2Frame(HEADERS, 0x5, frame.streamId, field('grpc-status', '8')));
      },
    });
    transport = openGrpcLean({ url: server.url, timeoutMs: 5000 });
    for (let round = 0; round < 3; round++)
      expect(await send(transport)).toMatchObject({ status: 'RESOURCE_EXHAUSTED' });
    await until(() => server.peers[0]?.seen.filter((frame) => frame.type === h2.RST_STREAM).length === 3);
    expect(server.connections()).toBe(1);
  });
});

describe('our HTTP/2 client, peers that break the protocol', () => {
  const oversized = Buffer.concat([Buffer.of(0x20, 0, 0), h2.okResponse(1).subarray(3)]);
  it.each<[string, Buffer]>([
    ['a frame that is too long', oversized],
    ['settings of odd length', h2Frame(h2.SETTINGS, 0, 0, Buffer.alloc(5))],
    ['settings of a stream', h2Frame(h2.SETTINGS, 0, 1)],
    ['an acknowledgement with contents', h2Frame(h2.SETTINGS, 1, 0, Buffer.alloc(6))],
    ['an initial window that is too large', h2.settingsFrame([4, 2 ** 31])],
    ['a frame size limit that is too small', h2.settingsFrame([5, 100])],
    ['a ping of the wrong length', h2Frame(h2.PING, 0, 0, Buffer.alloc(7))],
    ['a window update of nothing', h2.windowUpdate(0, 0)],
    ['a window beyond 2^31 - 1', h2.windowUpdate(0, 2 ** 31 - 1)],
    ["a stream's window beyond 2^31 - 1", h2.windowUpdate(1, 2 ** 31 - 1)],
    ['a push', h2Frame(5, 0x4, 1, Buffer.alloc(8))],
    ['a continuation of nothing', h2Frame(CONTINUATION, 0x4, 1, STATUS_200)],
    ['a continuation of another stream', Buffer.concat([h2Frame(HEADERS, 0, 1), h2Frame(CONTINUATION, 0x4, 3)])],
    ['an interrupted header block', Buffer.concat([h2Frame(HEADERS, 0, 1), h2Frame(h2.PING, 0, 0, Buffer.alloc(8))])],
    [
      'a header block without end',
      Buffer.concat([
        h2Frame(HEADERS, 0, 1),
        ...Array.from({ length: 70 }, () => h2Frame(CONTINUATION, 0, 1, Buffer.alloc(1024))),
      ]),
    ],
    ['headers of a stream that was never opened', okHeaders(99)],
    ['data of the connection', h2Frame(DATA, 0, 0, Buffer.alloc(3))],
    ["a stream of the server's own", okHeaders(2)],
    ['headers that do not decode', h2Frame(HEADERS, 0x4, 1, Buffer.of(0xff, 0xff))],
    ['headers that are all padding', h2Frame(HEADERS, 0xc, 1, Buffer.of(9, 0))],
    ['a goaway that is too short', h2Frame(h2.GOAWAY, 0, 0, Buffer.alloc(4))],
    ['a reset of the wrong length', h2Frame(h2.RST_STREAM, 0, 1, Buffer.alloc(3))],
  ])('survives %s', async (_, reply) => {
    await startReplying(reply);
    const outcomes = await sendMany(transport, inferRequest(16), 3);
    expect(outcomes.map((outcome) => !outcome.ok && outcome.kind)).toEqual(Array(3).fill('malformed'));
    expect(await send(transport)).toEqual({ ok: true });
    expect(server.connections()).toBe(2);
    expect(server.peers[0]?.seen.some((frame) => frame.type === h2.GOAWAY)).toBe(true);
  });

  it.each<[string, Buffer, RegExp]>([
    ['something else than settings first', h2Frame(h2.PING, 0, 0, Buffer.alloc(8)), /SETTINGS must come first/],
    ['HTTP/1.1', Buffer.from('HTTP/1.1 400 Bad Request\r\n\r\n'), /HTTP\/1/],
  ])('recognizes a peer that says %s', async (_, greeting, words) => {
    await startReplying(Buffer.alloc(0), greeting);
    const outcome = await send(transport);
    expect(outcome).toMatchObject({ kind: 'malformed', message: expect.stringMatching(words) });
  });
});
