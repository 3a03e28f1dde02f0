import {
  createServer,
  request as httpRequest,
  type IncomingMessage,
  type Server,
  type ServerResponse,
} from 'node:http';
import {
  type ClientHttp2Session,
  connect,
  createServer as createHttp2Server,
  type Http2Server,
  type IncomingHttpHeaders,
  type ServerHttp2Session,
  type ServerHttp2Stream,
} from 'node:http2';
import type { Socket } from 'node:net';
import type { RequestHeader } from '#loadgen/types.ts';
import { listen } from './misbehaving-server.ts';

/** What stands before a Triton and lets in only those who know the headers, over both protocols. */
export interface TokenFront {
  readonly grpcUrl: string;
  readonly httpUrl: string;
  /** Requests let through, and turned away. */
  readonly passed: { readonly control: number; readonly infer: number };
  readonly refused: number;
  /** From now on inferences are turned away whatever they show. */
  refuseInferences(): void;
  close(): Promise<void>;
}

const INFER = /ModelInfer|\/infer$/;

/**
 * Starts one. Those that it turns away it tells what they have shown, as no front should: a client
 * must not repeat that.
 */
export async function startTokenFront(
  target: { readonly grpcUrl: string; readonly httpUrl: string },
  wanted: readonly RequestHeader[],
): Promise<TokenFront> {
  const passed = { control: 0, infer: 0 };
  let refused = 0;
  let refusesInferences = false;
  const lets = (path: string, headers: IncomingHttpHeaders): boolean => {
    const isInfer = INFER.test(path);
    const isKnown = wanted.every(({ name, value }) => headers[name] === value);
    const isIn = isKnown && !(isInfer && refusesInferences);
    if (!isIn) refused++;
    else if (isInfer) passed.infer++;
    else passed.control++;
    return isIn;
  };
  const grpc = await startGrpcFront(target.grpcUrl, lets);
  const http = await startHttpFront(target.httpUrl, lets);
  return {
    grpcUrl: grpc.url,
    httpUrl: http.url,
    passed,
    get refused() {
      return refused;
    },
    refuseInferences: () => {
      refusesInferences = true;
    },
    close: async () => {
      await Promise.all([grpc.close(), http.close()]);
    },
  };
}

type Lets = (path: string, headers: IncomingHttpHeaders) => boolean;

const shownBy = (headers: IncomingHttpHeaders): string =>
  `nobody here knows ${headers.authorization} or ${headers['x-api-key']}`;

async function startGrpcFront(target: string, lets: Lets): Promise<{ url: string; close(): Promise<void> }> {
  const server: Http2Server = createHttp2Server();
  const sessions = new Set<ServerHttp2Session>();
  const inner: ClientHttp2Session = connect(`http://${target}`);
  inner.on('error', () => undefined);
  server.on('session', (session) => {
    sessions.add(session);
    session.on('close', () => sessions.delete(session)).on('error', () => undefined);
  });
  server.on('stream', (stream, headers) => {
    stream.on('error', () => undefined);
    if (lets(String(headers[':path']), headers)) return passOn(inner, stream, headers);
    const message = encodeURIComponent(shownBy(headers));
    stream.respond(
      { ':status': 200, 'content-type': 'application/grpc', 'grpc-status': '16', 'grpc-message': message },
      { endStream: true },
    );
  });
  const port = await listen(server as unknown as Parameters<typeof listen>[0]);
  return {
    url: `127.0.0.1:${port}`,
    close: async () => {
      inner.destroy();
      for (const session of sessions) session.destroy();
      await new Promise((closed) => server.close(closed));
    },
  };
}

function passOn(inner: ClientHttp2Session, stream: ServerHttp2Stream, headers: IncomingHttpHeaders): void {
  const own = Object.entries(headers).filter(([name]) => !name.startsWith(':') || /^:(method|path)$/.test(name));
  const call = inner.request(Object.fromEntries(own));
  call.on('error', () => stream.destroy());
  stream.on('close', () => call.destroy());
  let trailers = {};
  call.on('trailers', (block) => {
    trailers = plain(block);
  });
  call.on('response', (block, flags) => {
    if (stream.destroyed) return;
    const isWhole = (flags & 1) === 1;
    const answer = { ':status': 200, ...plain(block) };
    stream.respond(answer, isWhole ? { endStream: true } : { waitForTrailers: true });
    if (isWhole) return;
    stream.on('wantTrailers', () => stream.sendTrailers(trailers));
    call.pipe(stream);
  });
  stream.pipe(call);
}

const plain = (block: IncomingHttpHeaders): IncomingHttpHeaders =>
  Object.fromEntries(Object.entries(block).filter(([name]) => !name.startsWith(':')));

async function startHttpFront(target: string, lets: Lets): Promise<{ url: string; close(): Promise<void> }> {
  const sockets = new Set<Socket>();
  const server: Server = createServer((request, response) => {
    if (lets(request.url ?? '', request.headers)) return passHttpOn(target, request, response);
    request.resume();
    response.writeHead(401, { 'content-type': 'application/json' });
    response.end(JSON.stringify({ error: shownBy(request.headers) }));
  });
  server.on('connection', (socket) => {
    sockets.add(socket);
    socket.on('close', () => sockets.delete(socket));
  });
  const port = await listen(server as unknown as Parameters<typeof listen>[0]);
  return {
    url: `127.0.0.1:${port}`,
    close: async () => {
      for (const socket of sockets) socket.destroy();
      await new Promise((closed) => server.close(closed));
    },
  };
}

function passHttpOn(target: string, request: IncomingMessage, response: ServerResponse): void {
  const [host, port] = target.split(':');
  const { method, url: path, headers } = request;
  const call = httpRequest({ host, port, method, path, headers }, (answer) => {
    response.writeHead(answer.statusCode ?? 502, answer.headers);
    answer.pipe(response);
  });
  call.on('error', () => response.destroy());
  request.pipe(call);
}
