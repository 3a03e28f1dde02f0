import http2 from 'node:http2';
import { createServer, type Socket } from 'node:net';
import { type Front, listen } from './backstage.ts';
import { type Breakage, breakConnection } from './broken-connection.ts';
import { framed, MessageCutter } from './grpc-messages.ts';
import { grpcStatusOf, ProtocolFailure } from './protocol-failure.ts';

/** One call as its method sees it. After `end`, `fail` or a broken connection, everything else does nothing. */
export interface GrpcCall {
  readonly headers: http2.IncomingHttpHeaders;
  /** Sends one message of the answer. */
  send(message: Uint8Array): void;
  /** Ends the answer with status OK. */
  end(): void;
  fail(failure: ProtocolFailure): void;
  /** Breaks the connection that the call came by. */
  break(how: Breakage): void;
}

/** What a method does with a call: `message` for each message that comes, `done` when no more will. */
export interface CallTaker {
  message(bytes: Buffer): void;
  done(): void;
}

/** By the path on the wire. */
export type GrpcMethods = ReadonlyMap<string, (call: GrpcCall) => CallTaker>;

const LARGEST_WINDOW = 2 ** 31 - 1;
const SESSION_MEGABYTES = 4096;
const RESPONSE_HEADERS = {
  ':status': 200,
  'content-type': 'application/grpc',
  'grpc-accept-encoding': 'identity,deflate,gzip',
};
const OK_TRAILERS = { 'grpc-status': '0' };

/**
 * A gRPC server on Node's HTTP/2, without the layers of `@grpc/grpc-js`, which alone take more time for a small call than
 * everything else that the emulator does. Messages of up to 2 GiB, gzip and deflate taken. Rejects when it cannot listen.
 */
export async function startGrpcServer(methods: GrpcMethods, host: string, port: number): Promise<Front> {
  const server = http2.createServer({
    settings: { initialWindowSize: LARGEST_WINDOW, maxConcurrentStreams: LARGEST_WINDOW },
    maxSessionMemory: SESSION_MEGABYTES,
    // Load generators cancel what is late, many calls at a time; that is no attack here.
    streamResetBurst: 1e6,
    streamResetRate: 1e6,
  } as http2.ServerOptions);
  server.on('session', (session) => session.setLocalWindowSize(LARGEST_WINDOW));
  const sockets = new Map<number, Socket>();
  server.on('stream', (stream, headers) => {
    const socket = sockets.get(stream.session?.socket?.remotePort ?? 0);
    serve(methods, stream, headers, (how) => socket && breakConnection(socket, how));
  });
  // The listener is our own, so that a fault can break one connection and `close` cuts them all at once.
  const listener = createServer((socket) => {
    const peer = socket.remotePort ?? 0;
    sockets.set(peer, socket);
    socket.once('close', () => sockets.delete(peer));
    socket.on('error', () => socket.destroy());
    socket.setNoDelay(true);
    server.emit('connection', socket);
  });
  const listening = await listen(listener, host, port);
  return {
    port: listening,
    close: async () => {
      const closed = new Promise<void>((resolve) => listener.close(() => resolve()));
      for (const socket of sockets.values()) socket.destroy();
      await closed;
    },
  };
}

function serve(
  methods: GrpcMethods,
  stream: http2.ServerHttp2Stream,
  headers: http2.IncomingHttpHeaders,
  breakIt: (how: Breakage) => void,
): void {
  // A client that goes away takes its call with it; the connection is told by its own events.
  stream.on('error', () => undefined);
  const call = new Call(stream, headers, breakIt);
  const method = methods.get(String(headers[':path']));
  if (!method) {
    call.fail(new ProtocolFailure('UNIMPLEMENTED', ''));
    return;
  }
  const taker = method(call);
  const cutter = new MessageCutter(String(headers['grpc-encoding'] ?? 'identity'), (bytes) => taker.message(bytes));
  stream.on('data', (chunk: Buffer) => {
    try {
      cutter.push(chunk);
    } catch (error) {
      call.fail(error instanceof ProtocolFailure ? error : new ProtocolFailure('INTERNAL', 'Error parsing message'));
    }
  });
  stream.on('end', () => taker.done());
}

class Call implements GrpcCall {
  readonly headers: http2.IncomingHttpHeaders;
  readonly break: (how: Breakage) => void;
  readonly #stream: http2.ServerHttp2Stream;
  #isOver = false;

  constructor(stream: http2.ServerHttp2Stream, headers: http2.IncomingHttpHeaders, breakIt: (how: Breakage) => void) {
    this.#stream = stream;
    this.headers = headers;
    this.break = (how) => {
      this.#isOver = true;
      if (how === 'reset-stream') stream.close(http2.constants.NGHTTP2_INTERNAL_ERROR);
      else if (how === 'go-away') {
        stream.close(http2.constants.NGHTTP2_REFUSED_STREAM);
        stream.session?.close();
      } else breakIt(how);
    };
  }

  send(message: Uint8Array): void {
    if (this.#isClosed()) return;
    this.#respond(OK_TRAILERS);
    this.#stream.write(framed(message));
  }

  end(): void {
    if (this.#isClosed()) return;
    this.#respond(OK_TRAILERS);
    this.#isOver = true;
    this.#stream.end();
  }

  fail(failure: ProtocolFailure): void {
    if (this.#isClosed()) return;
    this.#isOver = true;
    const trailers = { 'grpc-status': String(grpcStatusOf(failure)), 'grpc-message': percentEncoded(failure.message) };
    if (!this.#stream.headersSent) {
      this.#stream.respond({ ...RESPONSE_HEADERS, ...trailers }, { endStream: true });
      return;
    }
    this.#stream.removeAllListeners('wantTrailers');
    this.#stream.once('wantTrailers', () => this.#stream.sendTrailers(trailers));
    this.#stream.end();
  }

  #respond(trailers: http2.OutgoingHttpHeaders): void {
    if (this.#stream.headersSent) return;
    this.#stream.once('wantTrailers', () => this.#stream.sendTrailers(trailers));
    this.#stream.respond(RESPONSE_HEADERS, { waitForTrailers: true });
  }

  #isClosed(): boolean {
    return this.#isOver || this.#stream.destroyed || this.#stream.closed;
  }
}

/** gRPC over HTTP/2, "Responses": printable ASCII but '%' as it is, other bytes of UTF-8 as %XX. */
const percentEncoded = (text: string): string => text.replace(/[^\x20-\x24\x26-\x7e]/gu, encodeURIComponent);
