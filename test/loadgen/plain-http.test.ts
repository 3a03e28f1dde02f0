import { createServer, type IncomingMessage, type RequestListener } from 'node:http';
import { createServer as createSecureServer } from 'node:https';
import type { Server, Socket } from 'node:net';
import { afterEach, describe, expect, it } from 'vitest';
import { realClock } from '#base/clock.ts';
import type { FailureTally } from '#loadgen/failure-tally.ts';
import { localFlow } from '#loadgen/flow.ts';
import { openPlainHttp, type PlainHttpOptions, type PlainHttpRequest } from '#loadgen/plain-http.ts';
import { allReplies, ReplyCounter, type ReplyTally } from '#loadgen/plain-http-tally.ts';
import type { Batch } from '#loadgen/recorder.ts';
import type { HttpReply, RequestSet } from '#loadgen/types.ts';
import { newAuthority, trusting } from '../support/certificates.ts';
import { listen, type MisbehavingServer, refusingUrl, reset, startRaw } from '../support/misbehaving-server.ts';

const cleanUps: (() => Promise<unknown>)[] = [];
afterEach(async () => {
  for (const cleanUp of cleanUps.splice(0)) await cleanUp();
});

interface Ask extends Partial<PlainHttpRequest>, Partial<PlainHttpOptions> {
  readonly concurrency?: number;
  readonly requests?: number;
}

interface Measured {
  readonly batch: Batch | undefined;
  readonly failures: readonly FailureTally[];
}

const set: RequestSet = {
  model: '',
  version: '',
  batch: 1,
  requests: [{ model: '', version: '', inputs: [], batch: 1 }],
};

async function measure(address: string, { concurrency = 2, requests = 6, ...ask }: Ask = {}): Promise<Measured> {
  const transport = openPlainHttp(
    { address, timeoutMs: 5000, keepsAlive: true, ...ask },
    { method: 'GET', host: address, target: '/', headers: [], body: null, ...ask },
  );
  const order = { requests: set, level: { mode: 'concurrency', value: concurrency } as const, mostRequests: requests };
  const flow = localFlow(order, { transport, clock: realClock });
  let batch: Batch | undefined;
  await new Promise<void>((resolve) => {
    const keep = (whole: Batch): void => {
      batch = whole;
      resolve();
    };
    flow.record({ lengthNs: 0, minRequests: requests }, keep, realClock.nowNs());
    flow.start();
  });
  await flow.drain(1000);
  await transport.close();
  return { batch, failures: batch?.failures ?? [] };
}

/** Well-behaved: a server of Node's own. */
async function serve(listener: RequestListener): Promise<string> {
  return listening(createServer(listener));
}

async function listening(server: Server & { closeAllConnections(): void }): Promise<string> {
  const port = await listen(server);
  cleanUps.push(async () => {
    server.closeAllConnections();
    await new Promise((resolve) => server.close(resolve));
  });
  return `127.0.0.1:${port}`;
}

async function startServer(onRequest: (socket: Socket, request: number) => void): Promise<MisbehavingServer> {
  let requests = 0;
  const server = await startRaw((socket) => {
    socket.on('data', () => onRequest(socket, requests++));
    socket.on('end', () => socket.end());
  });
  cleanUps.push(() => server.close());
  return server;
}

const crlf = (...lines: string[]): string => lines.map((line) => `${line}\r\n`).join('');
const OK = `${crlf('HTTP/1.1 200 OK', 'Content-Length: 5', '')}hello`;

/** What is known of a run for certain: counts, never times. */
const countsOf = ({ batch, failures }: Measured): object => ({
  replies: batch?.latencies.count,
  statuses: Object.fromEntries(batch?.replies?.statuses ?? []),
  bytes: batch?.replies?.bodyBytes ?? 0,
  failures: failures.map(({ kind, count }) => `${count} ${kind}`),
});

describe('plain HTTP', () => {
  it('sends method, target, headers and body as they are given', async () => {
    const seen: { request: IncomingMessage; body: string }[] = [];
    const address = await serve((request, response) => {
      let body = '';
      request.on('data', (chunk) => {
        body += chunk;
      });
      request.on('end', () => {
        seen.push({ request, body });
        response.end();
      });
    });
    await measure(address, {
      method: 'PUT',
      host: 'somewhere.example',
      target: '/a/b?c=d%20e',
      headers: [{ name: 'x-one', value: 'two' }],
      body: Buffer.from('größe'),
      requests: 2,
    });
    expect(seen).toHaveLength(2);
    for (const { request, body } of seen) {
      const { method, url, headers } = request;
      expect({ method, url, body }).toEqual({ method: 'PUT', url: '/a/b?c=d%20e', body: 'größe' });
      expect(headers).toEqual({ host: 'somewhere.example', 'x-one': 'two', 'content-length': '7' });
    }
  });

  it('says nothing of a length where there is no body', async () => {
    const seen: unknown[] = [];
    const address = await serve(({ headers }, response) => {
      seen.push(headers);
      response.end();
    });
    await measure(address, { requests: 1 });
    expect(seen).toEqual([{ host: address }]);
  });

  it.each([
    ['chunked', crlf('HTTP/1.1 200 OK', 'Transfer-Encoding: chunked', '', '3', 'abc', '2', 'de', '0', ''), 200, 30],
    ['without a body by its status', crlf('HTTP/1.1 204 No Content', ''), 204, 0],
    ['not modified, with the length of what is not sent', crlf('HTTP/1.1 304 -', 'Content-Length: 9', ''), 304, 0],
    ['after an interim one', crlf('HTTP/1.1 103 Early Hints', 'Link: </x>', '') + OK, 200, 30],
    ['a failure', `${crlf('HTTP/1.1 500 Oh', 'Content-Length: 2', '')}no`, 500, 12],
    ['a redirect, which is not followed', crlf('HTTP/1.1 302 -', 'Location: /b', 'Content-Length: 0', ''), 302, 0],
    ['with the same length twice', `${crlf('HTTP/1.1 200 OK', 'Content-Length: 2, 2', '')}no`, 200, 12],
  ])('takes replies that are %s', async (_, reply, status, bytes) => {
    const server = await startServer((socket) => socket.write(reply));
    const figures = await measure(server.url);
    expect(countsOf(figures)).toEqual({ replies: 6, statuses: { [status]: 6 }, bytes, failures: [] });
    expect(server.connections()).toBe(2);
    expect(figures.batch?.replies?.connect.count).toBe(2);
    expect(figures.batch?.replies?.wait.count).toBe(6);
  });

  it.each([
    ['whose body ends with the connection', crlf('HTTP/1.1 200 OK', '')],
    ['of HTTP/1.0', crlf('HTTP/1.0 200 OK', 'Content-Length: 5', '')],
    ['that close the connection', crlf('HTTP/1.1 200 OK', 'Content-Length: 5', 'Connection: close', '')],
  ])('takes replies %s, on a new connection each', async (_, head) => {
    const server = await startServer((socket) => socket.end(`${head}hello`));
    expect(countsOf(await measure(server.url))).toEqual({
      replies: 6,
      statuses: { 200: 6 },
      bytes: 30,
      failures: [],
    });
    expect(server.connections()).toBe(6);
  });

  it('does not wait for a body after HEAD', async () => {
    const server = await startServer((socket, request) =>
      socket.write(crlf('HTTP/1.1 200 OK', ...(request % 2 ? ['Content-Length: 5'] : []), '')),
    );
    expect(countsOf(await measure(server.url, { method: 'HEAD' }))).toMatchObject({ statuses: { 200: 6 }, bytes: 0 });
    expect(server.connections()).toBe(2);
  });

  it('opens a connection for every request where that is asked for', async () => {
    const wishes: unknown[] = [];
    let connections = 0;
    const server = createServer(({ headers }, response) => {
      wishes.push(headers.connection);
      response.end('hello');
    });
    server.on('connection', () => connections++);
    expect(countsOf(await measure(await listening(server), { keepsAlive: false }))).toMatchObject({
      statuses: { 200: 6 },
      failures: [],
    });
    expect(wishes).toEqual(Array(6).fill('close'));
    expect(connections).toBe(6);
  });

  it.each([
    ['resets before a reply', 'reset', (socket: Socket) => reset(socket)],
    ['resets in the middle of a body', 'reset', (socket: Socket) => socket.write(OK.slice(0, -2), () => reset(socket))],
    [
      'resets in a body that has no other end',
      'reset',
      (socket: Socket) => socket.write(crlf('HTTP/1.1 200 OK', '', 'hello'), () => reset(socket)),
    ],
    ['hangs up in the middle of a body', 'reset', (socket: Socket) => socket.end(OK.slice(0, -2))],
    ['says garbage', 'malformed', (socket: Socket) => socket.write('hello\r\n\r\n')],
    ['says nothing', 'timeout', () => undefined],
  ] as const)('counts a failure for a server that %s', async (_, kind, misbehave) => {
    const server = await startServer((socket) => misbehave(socket));
    const figures = await measure(server.url, { requests: 3, timeoutMs: 200 });
    expect(countsOf(figures)).toEqual({ replies: 0, statuses: {}, bytes: 0, failures: [`3 ${kind}`] });
  });

  it('counts every request once, whatever becomes of it', async () => {
    const server = await startServer((socket, request) => {
      if (request % 3 === 0) reset(socket);
      else socket.write(request % 3 === 1 ? OK : crlf('HTTP/1.1 503 -', 'Content-Length: 0', ''));
    });
    const figures = await measure(server.url, { requests: 60, concurrency: 4 });
    const { 200: good = 0, 503: busy = 0 } = Object.fromEntries(figures.batch?.replies?.statuses ?? []);
    expect(good + busy).toBe(figures.batch?.latencies.count);
    expect(good + busy + (figures.failures[0]?.count ?? 0)).toBe(60);
    expect([good, busy]).toEqual([20, 20]);
  });

  it('fails where nobody listens', async () => {
    expect(countsOf(await measure(await refusingUrl(), { requests: 3 }))).toMatchObject({ failures: ['3 refused'] });
  });

  it('speaks TLS, and names the host that it wants', async () => {
    const authority = await newAuthority();
    const tls = await authority.serverFor(['localhost', '127.0.0.1']);
    const names: unknown[] = [];
    const server = createSecureServer(tls, (request, response) => {
      names.push((request.socket as unknown as { servername: unknown }).servername);
      response.end('hello');
    });
    const address = await listening(server);
    const figures = await measure(address.replace('127.0.0.1', 'localhost'), { tls: trusting(authority) });
    expect(countsOf(figures)).toMatchObject({ statuses: { 200: 6 }, failures: [] });
    expect(names).toEqual(Array(6).fill('localhost'));
    expect(figures.batch?.replies?.lookup.count).toBe(2);
    const suspicious = await measure(address, { tls: { verify: true }, requests: 1 });
    expect(suspicious.failures[0]?.firstMessage).toMatch(/not trusted/);
  });
});

describe('a run of plain HTTP', () => {
  it('sends exactly as many requests as asked for, also when fewer than may be in flight', async () => {
    let requests = 0;
    const address = await serve((_, response) => {
      requests++;
      response.end();
    });
    expect((await measure(address, { concurrency: 8, requests: 5 })).batch?.latencies.count).toBe(5);
    expect(requests).toBe(5);
    expect((await measure(address, { concurrency: 3, requests: 100 })).batch?.latencies.count).toBe(100);
    expect(requests).toBe(105);
  });
});

describe('replies of several batches', () => {
  const reply = { status: 200, bodyBytes: 5, waitNs: 7, readNs: 3, lookupsNs: [], connectsNs: [] };
  const tallyOf = (...replies: HttpReply[]): ReplyTally => {
    const counter = new ReplyCounter();
    for (const each of replies) counter.add(each);
    return counter.tally;
  };

  it('are counted as one', () => {
    const one = tallyOf(reply, { ...reply, status: 503, bodyBytes: 1, waitNs: 20, connectsNs: [9, 11] });
    const other = tallyOf({ ...reply, waitNs: 4, lookupsNs: [2] });
    const all = allReplies([{ replies: one }, {}, { replies: other }]);
    expect(all).toMatchObject({
      bodyBytes: 11,
      wait: { count: 3, sumNs: 31, minNs: 4, maxNs: 20 },
      connect: { count: 2, sumNs: 20, minNs: 9, maxNs: 11 },
      lookup: { count: 1, sumNs: 2 },
    });
    expect([...(all?.statuses ?? [])]).toEqual([
      [200, 2],
      [503, 1],
    ]);
    expect(allReplies([{}])).toBeUndefined();
  });
});
