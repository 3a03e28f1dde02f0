import { createServer, type ServerResponse } from 'node:http';
import { afterEach, describe, expect, it } from 'vitest';
import { exitCodes } from '#app/exit-codes.ts';
import { startGrpcServer } from '#emulator/grpc/front.ts';
import type { GrpcCall } from '#emulator/grpc/methods.ts';
import { openEndpoint } from '#loadgen/endpoints/open-endpoint.ts';
import { openPlainHttp } from '#loadgen/plain-http.ts';
import { INFER_PATH, STREAM_INFER_PATH } from '#loadgen/transports/grpc-status.ts';
import { openTransport } from '#loadgen/transports/open.ts';
import type { InferRequest, SendOutcome, Transport } from '#loadgen/types.ts';
import { runCli, startCli } from '../support/cli.ts';
import { listen } from '../support/misbehaving-server.ts';

const TIMEOUT_MS = 300;
const EVERY_MS = 5;
const PIECE = Buffer.alloc(1024, 'a');
/** Field 15 of a message, of 100 bytes. */
const UNKNOWN_FIELD = Buffer.concat([Buffer.of(0x7a, 100), Buffer.alloc(100)]);
const EVENT = `data: ${JSON.stringify({ choices: [{ index: 0, delta: { content: ' a' }, finish_reason: null }] })}\n\n`;

const cleanUps: (() => unknown)[] = [];
afterEach(async () => {
  for (const cleanUp of cleanUps.splice(0).reverse()) await cleanUp();
});

/** Does it again and again until the test is over, or `until` comes true. */
function forEver(work: () => void, until: () => boolean = () => false): void {
  const timer = setInterval(() => (until() ? clearInterval(timer) : work()), EVERY_MS);
  cleanUps.push(() => clearInterval(timer));
}

/** Ways in which a reply over HTTP has no end. */
const httpReplies: Readonly<Record<string, (response: ServerResponse) => void>> = {
  'chunks of a body': (response) => {
    response.writeHead(200);
    forEver(
      () => response.write(PIECE),
      () => response.destroyed,
    );
  },
  'a body of a terabyte': (response) => {
    response.writeHead(200, { 'content-length': 1e12 });
    forEver(
      () => response.write(PIECE),
      () => response.destroyed,
    );
  },
  headers: ({ socket }) => {
    socket?.on('error', () => undefined);
    socket?.write('HTTP/1.1 200 OK\r\n');
    forEver(
      () => socket?.write('x-more: b\r\n'),
      () => socket?.destroyed !== false,
    );
  },
  'events of a stream': (response) => {
    response.writeHead(200, { 'content-type': 'text/event-stream' });
    forEver(
      () => response.write(EVENT),
      () => response.destroyed,
    );
  },
  'one event': (response) => {
    response.writeHead(200, { 'content-type': 'text/event-stream' });
    response.write('data: {"choices": "');
    forEver(
      () => response.write(PIECE),
      () => response.destroyed,
    );
  },
};

/** Replies well to this number of requests, and without an end to all others. */
async function httpServer(reply: (response: ServerResponse) => void, well = 0): Promise<string> {
  let requests = 0;
  const server = createServer((request, response) => {
    request.resume();
    if (requests++ < well) setTimeout(() => response.end('well'), EVERY_MS);
    else reply(response);
  });
  const port = await listen(server);
  cleanUps.push(
    () => server.close(),
    () => server.closeAllConnections(),
  );
  return `127.0.0.1:${port}`;
}

/** Its messages to a call do not end, or the one that it sends does not. */
async function grpcServer(reply: (call: GrpcCall) => void): Promise<string> {
  const taker = (call: GrpcCall) => ({ message: () => reply(call), done: () => undefined });
  const methods = new Map([INFER_PATH, STREAM_INFER_PATH].map((path) => [path, taker]));
  const server = await startGrpcServer(methods, '127.0.0.1', 0);
  cleanUps.push(() => server.close());
  return `127.0.0.1:${server.port}`;
}

const grpcReplies: Readonly<Record<string, (call: GrpcCall) => void>> = {
  messages: (call) => forEver(() => call.send(Buffer.alloc(0))),
  'long messages': (call) => forEver(() => call.send(UNKNOWN_FIELD)),
};

const request: InferRequest = { model: 'm', version: '', batch: 1, inputs: [] };

async function toOutcome(transport: Transport): Promise<SendOutcome> {
  cleanUps.push(() => transport.close());
  const prompt = {
    messages: [{ role: 'user' as const, content: 'a' }],
    inputTokens: 1,
    maxTokens: 4,
    ignoresEnd: true,
  };
  const prepared = transport.prepare({ ...request, prompt });
  return new Promise((resolve) => transport.send(prepared, (outcome) => resolve(structuredClone(outcome))));
}

const check = { compare: () => null, outputs: [] } as never;
const chat = { kind: 'openai-chat', path: '/v1/chat/completions', saysUsage: true, canIgnoreEnd: true } as const;

const overHttp: Readonly<Record<string, (url: string) => Transport>> = {
  'HTTP of Triton': (url) => openTransport('http', { url, timeoutMs: TIMEOUT_MS }),
  'HTTP of Triton, checked': (url) => openTransport('http', { url, timeoutMs: TIMEOUT_MS, check }),
  'plain HTTP': (url) =>
    openPlainHttp(
      { address: url, timeoutMs: TIMEOUT_MS, keepsAlive: true },
      { method: 'GET', host: url, target: '/', headers: [], body: null },
    ),
  "OpenAI's API": (url) =>
    openEndpoint({ address: url, host: url, model: 'm', endpoint: chat, timeoutMs: TIMEOUT_MS, headers: [] }),
};
const overGrpc: Readonly<Record<string, (url: string) => Transport>> = {
  gRPC: (url) => openTransport('grpc', { url, timeoutMs: TIMEOUT_MS }),
  'gRPC, checked': (url) => openTransport('grpc', { url, timeoutMs: TIMEOUT_MS, check }),
  'gRPC streams': (url) => openTransport('grpc', { url, timeoutMs: TIMEOUT_MS, streaming: true }),
};

const pairs = <A, B>(all: Readonly<Record<string, A>>, others: Readonly<Record<string, B>>): [string, string, A, B][] =>
  Object.entries(all).flatMap(([one, a]) => Object.entries(others).map(([other, b]) => [one, other, a, b] as never));

describe('a reply that never ends fails at the time limit of its request', () => {
  it.each(pairs(overHttp, httpReplies))('over %s: %s', async (_, __, open, reply) => {
    const outcome = await toOutcome(open(await httpServer(reply)));
    expect(outcome).toMatchObject({ ok: false, kind: 'timeout' });
  });

  it.each(pairs(overGrpc, grpcReplies))('over %s: %s', async (_, __, open, reply) => {
    const outcome = await toOutcome(open(await grpcServer(reply)));
    expect(outcome).toMatchObject({ ok: false, kind: 'timeout' });
  });
});

describe('a run against replies that never end, whose requests may take half a minute, ends', () => {
  const WELL = 300;
  const chunks = httpReplies['chunks of a body'] as (response: ServerResponse) => void;

  it('with SIGINT', { timeout: 120_000 }, async ({ onTestFinished }) => {
    const url = await httpServer(chunks, WELL);
    const { child, ended } = startCli(['profile', '--service-kind', 'http', '-u', `http://${url}/`]);
    onTestFinished(() => void child.kill('SIGKILL'));
    child.stdout?.on('data', (text: Buffer) => {
      if (text.includes('Request concurrency')) child.kill('SIGINT');
    });
    expect((await ended).code).toBe(exitCodes.interrupted);
  });

  it('with the longest time of a capacity', { timeout: 120_000 }, async () => {
    const url = await httpServer(chunks, WELL);
    const { stderr, stdout } = await runCli([
      ...['capacity', '--service-kind', 'http', '-u', `http://${url}/`, '--latency-budget', '50'],
      ...['--time-budget', '8s'],
    ]);
    expect(`${stdout}${stderr}`).toMatch(/--time-budget/);
  });
});
