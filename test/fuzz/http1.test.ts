import type { Socket } from 'node:net';
import fc from 'fast-check';
import { afterEach, describe, expect, it } from 'vitest';
import { openHttpLean } from '#loadgen/transports/http-lean.ts';
import { MalformedResponse } from '#loadgen/transports/http1-response-head.ts';
import { ResponseParser } from '#loadgen/transports/http1-response-parser.ts';
import type { SendOutcome, Transport } from '#loadgen/types.ts';
import { damagedBytes, FUZZ_TIMEOUT_MS, fuzzAsync, inPieces } from '../support/fuzz.ts';
import { type MisbehavingServer, startRaw } from '../support/misbehaving-server.ts';
import { inferRequest, send } from '../support/transport-suite.ts';
import { crlf, soundHttp1 } from './parsers/sound-replies.ts';

const answers = soundHttp1.map((text) => Buffer.from(text, 'latin1'));

/** The answers in the bytes, and how they ended. */
function answersIn(bytes: Buffer, lengths: readonly number[]): readonly string[] {
  const parser = new ResponseParser({ keepsErrors: true });
  const seen: string[] = [];
  const note = (): void => {
    seen.push(`${parser.statusCode} ${parser.keepsAlive} ${parser.bodyBytes} ${parser.errorBody}`);
    parser.next();
  };
  // As on a connection: a buffer that is lent, with the remains of earlier reads behind its end.
  const lent = Buffer.alloc(4096, '\r\n\r\n');
  try {
    for (const piece of inPieces(bytes, lengths)) {
      piece.copy(lent);
      for (let used = 0; used < piece.length; ) {
        used += parser.push(lent.subarray(used), piece.length - used);
        if (parser.isDone) note();
      }
    }
    if (parser.close()) note();
    return seen;
  } catch (error) {
    if (!(error instanceof MalformedResponse)) throw error;
    return [...seen, 'malformed'];
  }
}

const conversation = fc
  .array(fc.oneof(damagedBytes(answers), fc.constantFrom(...answers)), { minLength: 1, maxLength: 3 })
  .map((parts) => Buffer.concat(parts));

describe('HTTP/1 answers of a hostile server', () => {
  it.each([
    ['a field of blanks', `X: a${' '.repeat(60_000)}b`],
    ['a field of tabs and blanks', `X:${'\t '.repeat(30_000)}b`],
    ['a name of blanks', `${' '.repeat(60_000)}: b`],
    ['lengths', `Content-Length: ${'1, '.repeat(20_000)}2`],
    ['colons', ':'.repeat(60_000)],
  ])('with %s are read in the time that their length takes', (_, line) => {
    const head = crlf('HTTP/1.1 200 OK', line, 'Content-Length: 0', '');
    for (let round = 0; round < 10; round++) answersIn(Buffer.from(head, 'latin1'), [4096]);
  });
});

let server: MisbehavingServer | undefined;
let transport: Transport | undefined;
afterEach(async () => {
  await transport?.close();
  await server?.close();
});

async function toOutcome(speak: (socket: Socket) => void, timeoutMs = 10_000): Promise<SendOutcome> {
  server = await startRaw((socket) => void socket.once('data', () => speak(socket)));
  transport = openHttpLean({ url: server.url, timeoutMs });
  return send(transport);
}

describe('our HTTP/1 client', () => {
  it.each([
    ['a head without an end', 'HTTP/1.1 200 OK\r\n', 'X-Filler: abcdefghijklmnopqrstuvwxyz\r\n'],
    ['one field without an end', 'HTTP/1.1 200 OK\r\nX: ', 'abcdefghijklmnopqrstuvwxyz '],
    ['a size of a chunk without an end', 'HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n', '0'],
    ['a trailer without an end', 'HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n0\r\nX: ', 'abcdef'],
    [
      'a chunk of two gibibytes behind a smaller one',
      'HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n1\r\nab\r\n',
      '',
    ],
    [
      'a size of a chunk that no number holds',
      'HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nffffffffffffffff\r\n',
      '',
    ],
    ['a length that no number holds', 'HTTP/1.1 200 OK\r\nContent-Length: 99999999999999999999\r\n\r\n', ''],
    ['a length below nothing', 'HTTP/1.1 200 OK\r\nContent-Length: -1\r\n\r\n', ''],
    ['two lengths', 'HTTP/1.1 200 OK\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\n', ''],
  ])('gives up on %s', async (_, first, again) => {
    const outcome = await toOutcome((socket) => {
      socket.write(first);
      const many = again.repeat(again === '' ? 0 : Math.ceil(65_536 / again.length));
      const goOn = (): void => {
        if (many !== '' && socket.writable && socket.write(many)) setImmediate(goOn);
      };
      socket.on('drain', goOn);
      goOn();
    });
    expect(outcome).toMatchObject({ ok: false, kind: 'malformed' });
  });

  it.each([
    ['hints', crlf('HTTP/1.1 100 Continue', '')],
    ['a body', `${crlf('HTTP/1.1 500 no', 'Content-Length: 999999999999999', '')}${'x'.repeat(1000)}`],
    ['trailers', `${crlf('HTTP/1.1 200 OK', 'Transfer-Encoding: chunked', '', '0')}`],
  ])('has its deadline whatever comes of %s without an end, and keeps none of it', async (_, text) => {
    const before = process.memoryUsage().arrayBuffers;
    const outcome = await toOutcome((socket) => {
      socket.write(text);
      const more = /500/.test(text)
        ? 'x'.repeat(65_536)
        : /chunked/.test(text)
          ? 'T: x\r\n'.repeat(9000)
          : text.repeat(2000);
      const goOn = (): void => {
        if (socket.writable && socket.write(more)) setImmediate(goOn);
      };
      socket.on('drain', goOn);
      goOn();
    }, 300);
    expect(outcome).toMatchObject({ ok: false, kind: 'timeout' });
    expect(process.memoryUsage().arrayBuffers - before).toBeLessThan(50 * 2 ** 20);
  });

  it('leaves no request without its end when a server breaks off', { timeout: FUZZ_TIMEOUT_MS }, async () => {
    let script: Buffer = Buffer.alloc(0);
    server = await startRaw((socket) => {
      socket.once('data', () => socket.end(script));
      socket.on('end', () => socket.destroy());
    });
    const { url } = server;
    await fuzzAsync(conversation, async (bytes) => {
      script = bytes;
      const client: Transport = openHttpLean({ url, timeoutMs: 50 });
      const prepared = client.prepare(inferRequest(20));
      const outcome = await new Promise<SendOutcome>((done) => client.send(prepared, done));
      await client.close();
      if (!outcome.ok) expect(outcome.message).not.toBe('');
    });
  });
});
