import type { Socket } from 'node:net';
import fc from 'fast-check';
import { afterEach, describe, expect, it } from 'vitest';
import { openHttpLean } from '#loadgen/transports/http-lean.ts';
import { MalformedResponse } from '#loadgen/transports/http1-response-head.ts';
import { type ParserRule, ResponseParser } from '#loadgen/transports/http1-response-parser.ts';
import type { SendOutcome, Transport } from '#loadgen/types.ts';
import { type MisbehavingServer, startRaw } from '../support/misbehaving-server.ts';
import { inferRequest, send, sendMany, until } from '../support/transport-suite.ts';

const crlf = (...lines: string[]): string => lines.map((line) => `${line}\r\n`).join('');
const OK = `${crlf('HTTP/1.1 200 OK', 'Content-Length: 5', '')}hello`;

interface Parsed {
  readonly statusCode: number;
  readonly error: string;
  readonly keepsAlive: boolean;
  readonly bodyBytes: number;
}

/**
 * Reads every response in the text, cut into pieces of the given sizes; `closes` when the peer
 * closes at the end.
 */
function parse(text: string, sizes: Iterator<number>, closes: boolean, rule: ParserRule = {}): Parsed[] {
  const bytes = Buffer.from(text, 'latin1');
  const parser = new ResponseParser({ keepsErrors: true, ...rule });
  const parsed: Parsed[] = [];
  const note = (): void => {
    const { statusCode, errorBody, keepsAlive, bodyBytes } = parser;
    parsed.push({ statusCode, error: errorBody, keepsAlive, bodyBytes });
    parser.next();
  };
  // As on a connection: a buffer that is lent, with the remains of earlier reads behind its end.
  const lent = Buffer.alloc(4096, '\r\n\r\n');
  for (let at = 0; at < bytes.length; ) {
    const size = Math.min(sizes.next().value as number, bytes.length - at, lent.length);
    bytes.copy(lent, 0, at, at + size);
    for (let used = 0; used < size; ) {
      used += parser.push(lent.subarray(used), size - used);
      if (parser.isDone) note();
    }
    at += size;
  }
  if (closes && parser.close()) note();
  return parsed;
}

const whole = function* (): Generator<number> {
  for (;;) yield 4096;
};

const body = fc.string({ unit: 'binary-ascii', maxLength: 300 });
const anyResponse = fc
  .record({
    statusCode: fc.constantFrom(200, 201, 400, 404, 500, 503),
    chunks: fc.array(body, { maxLength: 4 }),
    chunked: fc.boolean(),
    hint: fc.boolean(),
    closes: fc.boolean(),
  })
  .map(({ statusCode, chunks, chunked, hint, closes }) => {
    const text = chunks.join('');
    const filled = chunks.filter((chunk) => chunk !== '');
    const framed = chunked
      ? [
          ...filled.map((chunk) => `${chunk.length.toString(16)};x=y\r\n${chunk}\r\n`),
          crlf('0', 'X-Trailer: z', ''),
        ].join('')
      : text;
    const head = crlf(
      `HTTP/1.1 ${statusCode} words`,
      'Server: test',
      chunked ? 'Transfer-Encoding: Chunked' : `content-length:${text.length}`,
      ...(closes ? ['Connection: Close'] : []),
      '',
    );
    const error = statusCode < 300 ? '' : text;
    const parsed: Parsed = { statusCode, error, keepsAlive: !closes, bodyBytes: text.length };
    return { wire: (hint ? crlf('HTTP/1.1 103 Early Hints', 'Link: </x>', '') : '') + head + framed, parsed };
  });

describe('HTTP/1.1 response parser', () => {
  it('reads responses one after another, however the bytes are cut', () => {
    fc.assert(
      fc.property(
        fc.array(anyResponse, { maxLength: 5 }),
        fc.infiniteStream(fc.integer({ min: 1, max: 200 })),
        (all, sizes) => {
          const wire = all.map((response) => response.wire).join('');
          expect(parse(wire, sizes, false)).toEqual(all.map((response) => response.parsed));
        },
      ),
      { numRuns: 300 },
    );
  });

  it.each([
    ['no body by its status', crlf('HTTP/1.1 204 No Content', ''), { statusCode: 204, keepsAlive: true }],
    ['an empty reason', crlf('HTTP/1.1 200 ', 'Content-Length: 0', ''), { statusCode: 200, keepsAlive: true }],
    ['no reason', crlf('HTTP/1.1 200', 'Content-Length: 0', ''), { statusCode: 200, keepsAlive: true }],
    ['HTTP/1.0', crlf('HTTP/1.0 200 OK', 'Content-Length: 0', ''), { statusCode: 200, keepsAlive: false }],
    [
      'HTTP/1.0 that stays',
      crlf('HTTP/1.0 200 OK', 'Connection: keep-alive', 'Content-Length: 0', ''),
      { keepsAlive: true },
    ],
    [
      'a body up to the end',
      `${crlf('HTTP/1.1 500 no', '')}all the rest`,
      { error: 'all the rest', keepsAlive: false, bodyBytes: 12 },
    ],
    ['one length, said twice', `${crlf('HTTP/1.1 200 OK', 'Content-Length: 3, 3', '')}abc`, { bodyBytes: 3 }],
    ['lines without carriage returns', 'HTTP/1.1 200 OK\nContent-Length: 3\n\nabc', { bodyBytes: 3, keepsAlive: true }],
  ])('takes %s', (_, wire, parsed) => {
    expect(parse(wire, whole(), true)).toMatchObject([parsed]);
  });

  it.each([
    ['another protocol', 'SSH-2.0-OpenSSH_9.6\r\n'],
    ['HTTP/2', crlf('HTTP/2.0 200 OK', '')],
    ['a status that is no number', crlf('HTTP/1.1 abc OK', '')],
    ['a line that is no field', crlf('HTTP/1.1 200 OK', 'nothing', '')],
    ['a folded field', crlf('HTTP/1.1 200 OK', 'a: b', ' c', '')],
    ['a length that is no number', crlf('HTTP/1.1 200 OK', 'Content-Length: -5', '')],
    ['two lengths', crlf('HTTP/1.1 200 OK', 'Content-Length: 5', 'Content-Length: 6', '')],
    ['an unknown coding', crlf('HTTP/1.1 200 OK', 'Transfer-Encoding: gzip, chunked', '')],
    ['a switch of protocols', crlf('HTTP/1.1 101 Switching', '')],
    ['a chunk without size', `${crlf('HTTP/1.1 200 OK', 'Transfer-Encoding: chunked', '')}xyz\r\n`],
    ['a chunk that is too long', `${crlf('HTTP/1.1 200 OK', 'Transfer-Encoding: chunked', '')}2\r\nabcd\r\n`],
    ['a size line without end', `${crlf('HTTP/1.1 200 OK', 'Transfer-Encoding: chunked', '')}${'1'.repeat(2000)}`],
    ['a head without end', `HTTP/1.1 200 OK\r\n${'a: b\r\n'.repeat(12_000)}`],
  ])('refuses %s', (_, wire) => {
    expect(() => parse(wire, whole(), false)).toThrow(MalformedResponse);
  });

  it('takes lines without carriage returns, however they are cut', () => {
    const wire = 'HTTP/1.1 200 OK\nContent-Length: 3\n\nabcHTTP/1.1 404 no\nContent-Length: 0\n\n';
    fc.assert(
      fc.property(fc.infiniteStream(fc.integer({ min: 1, max: 30 })), (sizes) => {
        expect(parse(wire, sizes, false)).toMatchObject([
          { statusCode: 200, bodyBytes: 3 },
          { statusCode: 404, bodyBytes: 0 },
        ]);
      }),
    );
  });

  it('ends replies to HEAD with their head', () => {
    const heads = crlf('HTTP/1.1 200 OK', 'Content-Length: 5', '', 'HTTP/1.1 103 -', '', 'HTTP/1.1 404 no', '');
    expect(parse(heads, whole(), false, { isBodiless: true })).toEqual([
      { statusCode: 200, error: '', keepsAlive: true, bodyBytes: 0 },
      { statusCode: 404, error: '', keepsAlive: true, bodyBytes: 0 },
    ]);
  });

  it('keeps the words of failures only where they are asked for', () => {
    const reply = `${crlf('HTTP/1.1 500 no', 'Content-Length: 5', '')}words`;
    expect(parse(reply, whole(), false, { keepsErrors: false })).toMatchObject([{ error: '', bodyBytes: 5 }]);
  });

  it('fails as malformed or not at all, whatever the bytes', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'binary-ascii', maxLength: 60 }), fc.boolean(), (noise, isHead) => {
        try {
          parse(isHead ? `HTTP/1.1 200 OK\r\n${noise}\r\n\r\n` : noise, whole(), true);
        } catch (error) {
          expect(error).toBeInstanceOf(MalformedResponse);
        }
      }),
      { numRuns: 1000 },
    );
  });
});

const cleanUps: (() => Promise<void>)[] = [];
afterEach(async () => {
  for (const cleanUp of cleanUps.splice(0)) await cleanUp();
});

async function start(serve: (socket: Socket, index: number) => void): Promise<[MisbehavingServer, Transport]> {
  const server = await startRaw(serve);
  const transport = openHttpLean({ url: server.url, timeoutMs: 5000 });
  cleanUps.push(
    () => transport.close(),
    () => server.close(),
  );
  return [server, transport];
}

/**
 * Says `reply` to every write of the client, which is a request each as long as requests are small.
 */
const replying = (reply: string) => (socket: Socket) => {
  socket.on('data', () => socket.write(reply, 'latin1'));
};
const good = (count: number): SendOutcome[] => Array<SendOutcome>(count).fill({ ok: true });

describe('our HTTP/1.1 client', () => {
  it('uses a connection for each request in flight, again and again', async () => {
    const [server, transport] = await start(replying(OK));
    for (let round = 0; round < 5; round++) {
      expect(await sendMany(transport, inferRequest(16), 7)).toEqual(good(7));
    }
    expect(server.connections()).toBe(7);
  });

  it.each([
    ['that say so', crlf('HTTP/1.1 200 OK', 'Content-Length: 0', 'Connection: close', '')],
    ['that say more than one answer', OK + OK],
  ])('does not use connections again %s', async (_, reply) => {
    const [server, transport] = await start(replying(reply));
    for (let round = 0; round < 3; round++) expect(await send(transport)).toEqual({ ok: true });
    expect(server.connections()).toBe(3);
  });

  it('takes a body that ends with the connection', async () => {
    const [server, transport] = await start((socket) => {
      socket.on('data', () => socket.end(`${crlf('HTTP/1.1 503 no', '')}{"error":"busy"}`));
    });
    const busy = { ok: false, kind: 'status', status: '503', message: 'busy' };
    for (let round = 0; round < 2; round++) expect(await send(transport)).toEqual(busy);
    expect(server.connections()).toBe(2);
  });

  it('gives the words of a server that does not speak JSON', async () => {
    const [, transport] = await start(replying(`${crlf('HTTP/1.1 502 Bad', 'Content-Length: 13', '')}<p>sorry</p>\n`));
    expect(await send(transport)).toMatchObject({ status: '502', message: '<p>sorry</p>' });
  });

  it('opens another connection when the server has closed an idle one', async () => {
    const sockets: Socket[] = [];
    const [server, transport] = await start((socket) => {
      sockets.push(socket);
      replying(OK)(socket);
    });
    expect(await send(transport)).toEqual({ ok: true });
    const closed = new Promise((resolve) => sockets[0]?.once('close', resolve));
    sockets[0]?.end();
    await closed;
    expect(await send(transport)).toEqual({ ok: true });
    expect(server.connections()).toBe(2);
  });

  it('leaves a connection whose server answers before it has the whole request', async () => {
    const [server, transport] = await start((socket) => {
      socket.once('data', () => {
        socket.pause();
        socket.write(crlf('HTTP/1.1 413 Too Large', 'Content-Length: 0', ''));
      });
    });
    const request = inferRequest(8 * 1024 * 1024);
    expect(await sendMany(transport, request)).toMatchObject([{ status: '413' }]);
    expect(await sendMany(transport, request)).toMatchObject([{ status: '413' }]);
    expect(server.connections()).toBe(2);
  });

  it('lets go of a server that speaks without being asked', async () => {
    const sockets: Socket[] = [];
    const [server, transport] = await start((socket) => {
      sockets.push(socket);
      replying(OK)(socket);
    });
    expect(await send(transport)).toEqual({ ok: true });
    sockets[0]?.write('HTTP/1.1 408 Too Slow\r\n\r\n');
    await until(() => sockets[0]?.readableEnded === true || sockets[0]?.destroyed === true);
    expect(await send(transport)).toEqual({ ok: true });
    expect(server.connections()).toBe(2);
  });
});
