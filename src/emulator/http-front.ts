import { createServer, type IncomingMessage, type RequestListener, type ServerResponse } from 'node:http';
import type { Backstage, Front } from './grpc-front.ts';
import { listen } from './grpc-front.ts';
import { type HttpInferCall, readHttpInfer, writeHttpInfer } from './http-infer-codec.ts';
import { routeOf } from './http-routes.ts';
import { runInfer } from './infer.ts';
import { asProtocolFailure, httpStatusOf, ProtocolFailure } from './protocol-failure.ts';
import type { EncodedAnswer, ServedVersion } from './served-version.ts';

/** The HTTP/REST protocol. Rejects when it cannot listen. */
export function startHttpFront(stage: Backstage, host: string, port: number): Promise<Front> {
  return startListening(
    (request, response) => {
      const target = /^\/v2\/models\/([^/]+)(?:\/versions\/([^/]+))?\/infer$/.exec(pathOf(request));
      if (target && request.method === 'POST') {
        const model = decodeURIComponent(target[1] as string);
        readBody(request, (body) => infer(stage, model, target[2] ?? '', body, request, response));
      } else {
        readBody(request, (body) => void answer(stage, body, request, response));
      }
    },
    host,
    port,
  );
}

/** Any HTTP server of the emulator, on its port. */
export async function startListening(listener: RequestListener, host: string, port: number): Promise<Front> {
  const server = createServer({ keepAliveTimeout: 60_000 }, listener);
  const listening = await listen(server, host, port);
  return {
    port: listening,
    close: async () => {
      const closed = new Promise<void>((resolve) => server.close(() => resolve()));
      server.closeAllConnections();
      await closed;
    },
  };
}

const pathOf = (request: IncomingMessage): string => (request.url ?? '/').split('?')[0] as string;

function readBody(request: IncomingMessage, done: (body: Buffer) => void): void {
  const chunks: Buffer[] = [];
  request.on('data', (chunk: Buffer) => chunks.push(chunk));
  request.on('end', () => done(chunks.length === 1 ? (chunks[0] as Buffer) : Buffer.concat(chunks)));
}

async function answer(
  stage: Backstage,
  body: Buffer,
  request: IncomingMessage,
  response: ServerResponse,
): Promise<void> {
  try {
    const route = routeOf(request.method ?? 'GET', pathOf(request));
    if (!route) {
      sendJson(response, 404, { error: `no such resource: ${request.method} ${pathOf(request)}` });
      return;
    }
    const reply = await route(stage, body);
    if (reply === undefined) response.writeHead(200, { 'content-length': 0 }).end();
    else sendJson(response, 200, reply);
  } catch (error) {
    sendFailure(response, asProtocolFailure(error));
  }
}

function infer(
  stage: Backstage,
  model: string,
  version: string,
  body: Buffer,
  request: IncomingMessage,
  response: ServerResponse,
): void {
  let call: HttpInferCall;
  try {
    // An unknown model is told before a bad body, as by the real server.
    stage.repository.serving(model, version);
    call = readHttpInfer(model, version, body, headerLengthOf(request, body));
  } catch (error) {
    sendFailure(response, asProtocolFailure(error));
    return;
  }
  runInfer(stage, call, (outcome) => {
    if (outcome.kind === 'dropped') request.socket.destroy();
    else if (outcome.kind === 'failed') sendFailure(response, outcome.failure);
    else {
      const reply = encodedAnswer(outcome.served, outcome.batch, call);
      response.writeHead(200, {
        'content-type': reply.headerLength === null ? 'application/json' : 'application/octet-stream',
        'content-length': reply.body.length,
        ...(reply.headerLength !== null && { 'inference-header-content-length': reply.headerLength }),
      });
      response.end(reply.body);
    }
  });
}

function encodedAnswer(served: ServedVersion, batch: number, call: HttpInferCall): EncodedAnswer {
  const write = (): EncodedAnswer => writeHttpInfer(served.signature, served.version, batch, call);
  if (call.id !== '') return write();
  const key = `http ${batch} ${call.binaryByDefault} ${call.outputs.join(' ')} ${[...call.binaryByOutput].join(' ')} ${[...call.outputPlaces.keys()].join(' ')}`;
  const encoded = served.encoded.get(key) ?? write();
  served.encoded.set(key, encoded);
  return encoded;
}

function headerLengthOf(request: IncomingMessage, body: Buffer): number | undefined {
  const given = request.headers['inference-header-content-length'];
  if (given === undefined) return undefined;
  const length = Number(given);
  if (Number.isInteger(length) && length > 0 && length <= body.length) return length;
  throw new ProtocolFailure('INVALID_ARGUMENT', `Invalid value '${String(given)}' for Inference-Header-Content-Length`);
}

function sendFailure(response: ServerResponse, failure: ProtocolFailure): void {
  sendJson(response, httpStatusOf(failure), { error: failure.message });
}

function sendJson(response: ServerResponse, status: number, value: unknown): void {
  const body = Buffer.from(JSON.stringify(value));
  response.writeHead(status, { 'content-type': 'application/json', 'content-length': body.length }).end(body);
}
