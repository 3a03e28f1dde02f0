import type { Socket } from 'node:net';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { openGrpcLean } from '#loadgen/transports/grpc-lean.ts';
import { openHttpLean } from '#loadgen/transports/http-lean.ts';
import type { Transport } from '#loadgen/types.ts';
import { startRaw } from '../support/misbehaving-server.ts';
import { h2Frame } from '../support/raw-h2.ts';
import * as h2 from '../support/scripted-h2.ts';
import { inferRequest, sendMany } from '../support/transport-suite.ts';

/** One thing that a server does when it hears from its client. */
type Act = { readonly say: Buffer } | 'reset' | 'end' | 'nothing';

function act(socket: Socket, what: Act): void {
  if (what === 'reset') socket.resetAndDestroy();
  else if (what === 'end') socket.end();
  else if (what !== 'nothing' && socket.writable) socket.write(what.say);
}

const noise = fc.uint8Array({ maxLength: 60 }).map((bytes) => Buffer.from(bytes));
const streamId = fc.constantFrom(0, 1, 1, 1, 3, 3, 5, 7, 2, 99);
const anyFrame = fc
  .tuple(fc.integer({ min: 0, max: 11 }), fc.integer({ min: 0, max: 255 }), streamId, noise)
  .map(([type, flags, id, payload]) => h2Frame(type, flags, id, payload));
const goodFrames = fc.oneof(
  streamId.map(h2.okResponse),
  streamId.map(h2.okHeaders),
  streamId.map(h2.okMessage),
  streamId.map((id) => h2.trailers(id, '13')),
  streamId.map((id) => h2.goAway(id)),
  fc.tuple(streamId, fc.integer({ min: 0, max: 2 ** 31 - 1 })).map(([id, bytes]) => h2.windowUpdate(id, bytes)),
  fc
    .tuple(fc.integer({ min: 1, max: 6 }), fc.constantFrom(0, 1, 100, 16_384, 2 ** 31))
    .map(([id, value]) => h2.settingsFrame([id, value])),
);
/** Some bytes of a message changed, or its end cut off. */
const damaged = (whole: fc.Arbitrary<Buffer>): fc.Arbitrary<Buffer> =>
  fc.tuple(whole, fc.nat(), fc.nat(255), fc.boolean()).map(([bytes, at, byte, cut]) => {
    if (bytes.length === 0) return bytes;
    const copy = Buffer.from(bytes);
    copy[at % bytes.length] = byte;
    return cut ? copy.subarray(0, at % bytes.length) : copy;
  });

const httpAnswers = fc
  .constantFrom(
    'HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\nabc',
    'HTTP/1.1 500 no\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\n\r\n',
    'HTTP/1.1 404 no\r\nConnection: close\r\n\r\nnot here',
    'HTTP/1.1 100 Continue\r\n\r\n',
  )
  .map((text) => Buffer.from(text));

const acts = (...says: fc.Arbitrary<Buffer>[]): fc.Arbitrary<Act[]> =>
  fc.array(
    fc.oneof(
      { weight: 8, arbitrary: fc.oneof(...says).map((say): Act => ({ say })) },
      { weight: 1, arbitrary: fc.constantFrom<Act>('reset', 'end', 'nothing') },
    ),
    { minLength: 1, maxLength: 10 },
  );

/**
 * Sends against a server that goes through the acts, one for each time it hears something, on every
 * connection.
 */
async function endsAll(open: (url: string) => Transport, greeting: Buffer, script: readonly Act[]): Promise<void> {
  const server = await startRaw((socket) => {
    let next = 0;
    socket.write(greeting);
    socket.on('data', () => {
      for (let count = 0; count < 3 && next < script.length; count++) act(socket, script[next++] as Act);
    });
  });
  const transport = open(server.url);
  try {
    // `sendMany` rejects when a request does not end, or ends twice.
    for (let round = 0; round < 2; round++) expect((await sendMany(transport, inferRequest(300), 4)).length).toBe(4);
  } finally {
    await transport.close();
    await server.close();
  }
}

const TIMEOUT_MS = 25;
const NUM_RUNS = 40;

describe('our own clients, against servers that do anything', () => {
  it('gRPC: end every request once', async () => {
    const open = (url: string): Transport => openGrpcLean({ url, timeoutMs: TIMEOUT_MS });
    await fc.assert(
      fc.asyncProperty(acts(goodFrames, anyFrame, damaged(goodFrames), noise), (script) =>
        endsAll(open, h2.settingsFrame(), script),
      ),
      { numRuns: NUM_RUNS },
    );
  });

  it('HTTP: end every request once', async () => {
    const open = (url: string): Transport => openHttpLean({ url, timeoutMs: TIMEOUT_MS });
    await fc.assert(
      fc.asyncProperty(acts(httpAnswers, damaged(httpAnswers), noise), (script) =>
        endsAll(open, Buffer.alloc(0), script),
      ),
      { numRuns: NUM_RUNS },
    );
  });
});
