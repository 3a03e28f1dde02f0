import { createServer as createHttp, type IncomingMessage, type RequestListener } from 'node:http';
import { createServer as createHttp2, createSecureServer, type ServerHttp2Stream, type Settings } from 'node:http2';
import { createServer as createHttps } from 'node:https';
import type { Server, Socket } from 'node:net';
import { gunzipSync, inflateSync } from 'node:zlib';
import { messageType } from '#triton/wire/proto.ts';
import type { ServerTls } from './certificates.ts';
import { listen, reset } from './misbehaving-server.ts';

/** What a test server does with the requests that arrive from now on. */
export type Reply =
  | { readonly kind: 'ok'; readonly bodyBytes?: number }
  | { readonly kind: 'status'; readonly code: number; readonly message: string }
  | { readonly kind: 'silence' }
  | { readonly kind: 'reset' }
  /**
   * Says that all is well, and how much is to come, and closes the connection before it has come.
   */
  | { readonly kind: 'cut' };

/** One reply for all requests, or one for each by its number, from 1. */
export type Script = Reply | ((request: number) => Reply);

const replyTo = (script: Script, request: number): Reply => (typeof script === 'function' ? script(request) : script);

/** One request as a server saw it. */
export interface Received {
  /** The ModelInferRequest over gRPC, the body over HTTP. */
  readonly message: Buffer;
  readonly model: string;
  readonly tensors: Buffer;
}

/** A server that plays a model and notes what it was sent. */
export interface InferServer {
  readonly url: string;
  readonly received: readonly Received[];
  replyWith(reply: Script): void;
  close(): Promise<void>;
}

interface Listening {
  readonly url: string;
  close(): Promise<void>;
}

async function serve(server: Server, port: number): Promise<Listening> {
  const sockets = new Set<Socket>();
  server.on('connection', (socket: Socket) => {
    sockets.add(socket);
    socket.on('close', () => sockets.delete(socket));
    socket.on('error', () => undefined);
  });
  const bound = await listen(server, port);
  return {
    url: `127.0.0.1:${bound}`,
    close: async () => {
      for (const socket of sockets) socket.destroy();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

/** Five bytes before each gRPC message: not compressed, and its length. */
export function grpcFrame(message: Uint8Array): Buffer {
  const frame = Buffer.alloc(5 + message.byteLength);
  frame.writeUInt32BE(message.byteLength, 1);
  frame.set(message, 5);
  return frame;
}

/** A ModelInferResponse with one output of so many bytes. */
export function inferResponse(bodyBytes: number): Buffer {
  const type = messageType('ModelInferResponse');
  return Buffer.from(
    type.encode(type.create({ model_name: 'm', raw_output_contents: [new Uint8Array(bodyBytes)] })).finish(),
  );
}

/** gRPC on `node:http2`, whose HTTP/2 is nghttp2's. */
export async function startGrpcServer(settings: Settings = {}, port = 0, tls?: ServerTls): Promise<InferServer> {
  const received: Received[] = [];
  let script: Script = { kind: 'ok' };
  const replyWith = (next: Script): void => {
    script = next;
  };
  const server = tls ? createSecureServer({ settings, ...tls }) : createHttp2({ settings });
  server.on('sessionError', () => undefined);
  server.on('stream', (stream: ServerHttp2Stream, headers) => {
    stream.on('error', () => undefined);
    const isOver = (): boolean => stream.aborted || stream.session?.destroyed !== false;
    if (String(headers[':path']).endsWith('/ModelStreamInfer')) {
      serveStream(stream, (message) => {
        if (isOver()) return;
        received.push(readInferMessage(message, headers['grpc-encoding']));
        answerStream(stream, replyTo(script, received.length));
      });
      return;
    }
    const chunks: Buffer[] = [];
    stream.on('data', (chunk: Buffer) => chunks.push(chunk));
    stream.on('end', () => {
      if (isOver()) return;
      received.push(readInferMessage(Buffer.concat(chunks), headers['grpc-encoding']));
      answerGrpc(stream, replyTo(script, received.length));
    });
  });
  const listening = await serve(server as unknown as Server, port);
  return { ...listening, received, replyWith };
}

/** By the name of a coding, in gRPC and in HTTP. */
const decoders: Readonly<Record<string, (bytes: Buffer) => Buffer>> = { gzip: gunzipSync, deflate: inflateSync };

function uncompressed(bytes: Buffer, coding: string | string[] | undefined): Buffer {
  const decode = coding === undefined ? (same: Buffer) => same : decoders[String(coding)];
  if (!decode) throw new Error(`no coding that we know: ${coding}`);
  return decode(bytes);
}

function readInferMessage(framed: Buffer, coding: string | string[] | undefined): Received {
  const payload = framed.subarray(5);
  if (framed.readUInt32BE(1) !== payload.byteLength) throw new Error('not one whole gRPC message');
  if ((framed[0] === 1) !== (coding !== undefined)) throw new Error('compressed, or not, against what it says');
  const message = uncompressed(payload, coding);
  const decoded = messageType('ModelInferRequest').decode(message) as unknown as {
    model_name: string;
    raw_input_contents: Uint8Array[];
  };
  return { message, model: decoded.model_name, tensors: Buffer.concat(decoded.raw_input_contents) };
}

/** Calls `serve` with every framed message of a stream, as it comes. */
function serveStream(stream: ServerHttp2Stream, serve: (framed: Buffer) => void): void {
  let rest: Buffer = Buffer.alloc(0);
  stream.on('data', (chunk: Buffer) => {
    rest = Buffer.concat([rest, chunk]);
    while (rest.length >= 5 && rest.length >= 5 + rest.readUInt32BE(1)) {
      const length = 5 + rest.readUInt32BE(1);
      serve(rest.subarray(0, length));
      rest = rest.subarray(length);
    }
  });
}

/** One ModelStreamInferResponse, framed. */
export function streamResponse(fields: {
  readonly bodyBytes?: number;
  readonly isFinal?: boolean;
  readonly error?: string;
}): Buffer {
  const { bodyBytes = 64, isFinal, error } = fields;
  const type = messageType('ModelStreamInferResponse');
  const parameters =
    isFinal === undefined ? {} : { other: { string_param: 'x' }, triton_final_response: { bool_param: isFinal } };
  const response =
    error === undefined ? { model_name: 'm', parameters, raw_output_contents: [new Uint8Array(bodyBytes)] } : undefined;
  return grpcFrame(type.encode(type.fromObject({ error_message: error, infer_response: response })).finish());
}

function answerStream(stream: ServerHttp2Stream, reply: Reply): void {
  const socket = stream.session?.socket;
  if (stream.destroyed || !socket) return;
  if (!stream.headersSent && reply.kind !== 'status' && reply.kind !== 'silence') {
    stream.respond(grpcHeaders, { waitForTrailers: true });
  }
  if (reply.kind === 'reset') socket.destroy();
  if (reply.kind === 'ok') stream.write(streamResponse({ bodyBytes: reply.bodyBytes ?? 64, isFinal: true }));
  if (reply.kind === 'cut')
    stream.write(streamResponse({ bodyBytes: 1024 }).subarray(0, 512), () => socket.destroySoon());
  if (reply.kind === 'status') {
    const status = { 'grpc-status': String(reply.code), 'grpc-message': percentEncoded(reply.message) };
    if (stream.headersSent) {
      stream.on('wantTrailers', () => stream.sendTrailers(status));
      stream.end();
    } else {
      stream.respond({ ...grpcHeaders, ...status }, { endStream: true });
    }
  }
}

/**
 * As gRPC writes a status message: bytes of UTF-8, those outside printable ASCII and '%' as %XX.
 */
function percentEncoded(words: string): string {
  return Array.from(Buffer.from(words), (byte) =>
    byte < 0x20 || byte > 0x7e || byte === 0x25
      ? `%${byte.toString(16).toUpperCase().padStart(2, '0')}`
      : String.fromCharCode(byte),
  ).join('');
}

const grpcHeaders = { ':status': 200, 'content-type': 'application/grpc' };

function answerGrpc(stream: ServerHttp2Stream, reply: Reply): void {
  const socket = stream.session?.socket;
  if (stream.destroyed || !socket) return;
  if (reply.kind === 'reset') socket.destroy();
  if (reply.kind === 'status') {
    stream.respond(
      { ...grpcHeaders, 'grpc-status': String(reply.code), 'grpc-message': percentEncoded(reply.message) },
      { endStream: true },
    );
  }
  if (reply.kind === 'ok') {
    stream.respond(grpcHeaders, { waitForTrailers: true });
    stream.on('wantTrailers', () => stream.sendTrailers({ 'grpc-status': '0' }));
    stream.end(grpcFrame(inferResponse(reply.bodyBytes ?? 64)));
  }
  if (reply.kind === 'cut') {
    stream.respond(grpcHeaders);
    stream.write(grpcFrame(inferResponse(1024)).subarray(0, 512), () => socket.destroySoon());
  }
}

function readInferCall(request: IncomingMessage, body: Buffer): Received {
  const message = uncompressed(body, request.headers['content-encoding']);
  const model = decodeURIComponent(request.url?.split('/')[3] ?? '');
  const jsonBytes = Number(request.headers['inference-header-content-length']);
  if (request.headers['content-type'] === 'application/json') return { message, model, tensors: Buffer.alloc(0) };
  const { inputs } = JSON.parse(message.toString('utf8', 0, jsonBytes)) as {
    inputs: { parameters: { binary_data_size: number } }[];
  };
  const sizes = inputs.map((input) => input.parameters.binary_data_size);
  const tensors = message.subarray(jsonBytes);
  if (sizes.reduce((sum, size) => sum + size, 0) !== tensors.byteLength) throw new Error('not the bytes it says');
  return { message, model, tensors };
}

/** KServe v2 on `node:http`. */
export async function startHttpServer(port = 0, tls?: ServerTls): Promise<InferServer> {
  const received: Received[] = [];
  let script: Script = { kind: 'ok' };
  const replyWith = (next: Script): void => {
    script = next;
  };
  const serveCall: RequestListener = (request, response) => {
    const chunks: Buffer[] = [];
    request.on('data', (chunk: Buffer) => chunks.push(chunk));
    request.on('end', () => {
      received.push(readInferCall(request, Buffer.concat(chunks)));
      const reply = replyTo(script, received.length);
      if (reply.kind === 'reset') reset(request.socket);
      if (reply.kind === 'status') {
        response.writeHead(reply.code, { 'Content-Type': 'application/json' });
        response.end(JSON.stringify({ error: reply.message }));
      }
      if (reply.kind === 'ok') {
        const body = Buffer.alloc(reply.bodyBytes ?? 64);
        response.writeHead(200, { 'Content-Type': 'application/octet-stream', 'Content-Length': body.byteLength });
        response.end(body);
      }
      if (reply.kind === 'cut') {
        response.writeHead(200, { 'Content-Length': 1024 });
        response.write(Buffer.alloc(512), () => request.socket.destroySoon());
      }
    });
  };
  const server = tls ? createHttps(tls, serveCall) : createHttp(serveCall);
  const listening = await serve(server, port);
  return { ...listening, received, replyWith };
}
