import { createServer, type IncomingMessage, type RequestListener, type ServerResponse } from 'node:http';
import { answersOpenAi } from '../language/openai-front.ts';
import type { EncodedAnswer } from '../models/answer-cache.ts';
import type { Servable } from '../models/servable.ts';
import { type ListeningFront, listen, type ServerContext } from '../server-context.ts';
import { breakConnection } from '../wire/broken-connection.ts';
import { type InferOutcome, runInfer } from '../wire/infer.ts';
import { asProtocolFailure, ProtocolFailure } from '../wire/protocol-failure.ts';
import { generate } from './generate.ts';
import { type HttpInferCall, readHttpInfer, writeHttpInfer } from './infer-codec.ts';
import { sendFailure, sendJson } from './reply.ts';
import { pathSegment, plainBody, readBody } from './request.ts';
import { findRoute } from './routes.ts';

const TARGET = /^\/v2\/models\/([^/]+)(?:\/versions\/([^/]+))?\/(infer|generate|generate_stream)$/;
const DECOUPLED = "HTTP end point doesn't support models with decoupled transaction policy";

/** Starts the HTTP/REST protocol. Rejects if it cannot listen. */
export function startHttpFront(context: ServerContext, host: string, port: number): Promise<ListeningFront> {
  return startListening(httpListener(context), host, port);
}

/** Returns the handler of requests. */
export function httpListener(context: ServerContext): RequestListener {
  return (request, response) => {
    const target = TARGET.exec(readPath(request));
    readBody(request, (body) => {
      if (target && request.method === 'POST') run(context, target, body, request, response);
      else if (!answersOpenAi(context, readPath(request), body, request, response))
        void answer(context, body, request, response);
    });
  };
}

/** Starts any HTTP server of the emulator on its port. */
export async function startListening(listener: RequestListener, host: string, port: number): Promise<ListeningFront> {
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

const readPath = (request: IncomingMessage): string => (request.url ?? '/').split('?')[0] as string;

async function answer(
  context: ServerContext,
  body: Buffer,
  request: IncomingMessage,
  response: ServerResponse,
): Promise<void> {
  try {
    const route = findRoute(request.method ?? 'GET', readPath(request));
    if (!route) {
      sendJson(response, 404, { error: 'Not Found' });
      return;
    }
    const reply = await route(context, body);
    if (reply === undefined) response.writeHead(200, { 'content-length': 0 }).end();
    else sendJson(response, 200, reply);
  } catch (error) {
    sendFailure(response, asProtocolFailure(error));
  }
}

function run(
  context: ServerContext,
  [, modelPart = '', versionPart = '', what]: RegExpExecArray,
  body: Buffer,
  request: IncomingMessage,
  response: ServerResponse,
): void {
  try {
    const [model, version] = [pathSegment(modelPart), pathSegment(versionPart)];
    if (what === 'infer') infer(context, model, version, body, request, response);
    else generate(context, { model, version, body, isStream: what === 'generate_stream' }, response);
  } catch (error) {
    sendFailure(response, asProtocolFailure(error));
  }
}

/** Throws a ProtocolFailure, or an error that can be reported as one. */
function infer(
  context: ServerContext,
  model: string,
  version: string,
  body: Buffer,
  request: IncomingMessage,
  response: ServerResponse,
): void {
  // An unknown model is reported before a bad body, as by the real server.
  const { signature } = context.repository.serving(model, version);
  const plain = plainBody(body, request.headers['content-encoding']);
  const call = readHttpInfer(model, version, plain, parseHeaderLength(request, plain), signature);
  const done = (outcome: InferOutcome): void => {
    if (outcome.kind === 'failed') sendFailure(response, outcome.failure);
    else if (outcome.kind === 'disturbed' && outcome.how !== 'hang') breakConnection(request.socket, outcome.how);
    else if (outcome.kind === 'answered') {
      const reply = encodedAnswer(outcome.served, outcome.batch, call);
      response.writeHead(200, {
        'content-type': reply.headerLength === null ? 'application/json' : 'application/octet-stream',
        'content-length': reply.body.length,
        ...(reply.headerLength !== null && { 'inference-header-content-length': reply.headerLength }),
      });
      response.end(reply.body);
    }
  };
  runInfer(context, call, { oneAnswerOnly: DECOUPLED, done });
}

function encodedAnswer(served: Servable, batch: number, call: HttpInferCall): EncodedAnswer {
  const write = (): EncodedAnswer => writeHttpInfer(served.signature, served.version, batch, call);
  if (call.id !== '') return write();
  const key = `http ${batch} ${call.binaryByDefault} ${call.outputs.join(' ')} ${[...call.binaryByOutput].join(' ')} ${[...call.outputPlaces.keys()].join(' ')}`;
  const encoded = served.encoded.get(key) ?? write();
  served.encoded.set(key, encoded);
  return encoded;
}

function parseHeaderLength(request: IncomingMessage, body: Buffer): number | undefined {
  const header = request.headers['inference-header-content-length'];
  if (header === undefined) return undefined;
  const length = /^\d+$/.test(String(header)) ? Number(header) : Number.NaN;
  if (length <= body.length) return length;
  throw new ProtocolFailure(
    'INVALID_ARGUMENT',
    `Invalid value '${String(header)}' for Inference-Header-Content-Length`,
  );
}
