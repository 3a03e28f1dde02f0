import { createHash } from 'node:crypto';
import { createServer as createHttp, request as requestHttp } from 'node:http';
import { connect, createServer as createHttp2, type ServerHttp2Stream } from 'node:http2';
import type { Server } from 'node:net';
import { gunzipSync, inflateSync } from 'node:zlib';
import { messageType } from '#triton/wire/proto.ts';
import { listen } from './misbehaving-server.ts';

/** An inference request, without what two clients are free to choose: ids, regions, offsets. */
export interface RecordedRequest {
  readonly model: string;
  readonly version: string;
  readonly inputs: readonly RecordedInput[];
  /** Outputs that the server is to write into shared memory. */
  readonly placedOutputs: readonly string[];
  /** NAME=VALUE, in order. */
  readonly parameters: readonly string[];
}

export interface RecordedInput {
  readonly name: string;
  readonly datatype: string;
  readonly shape: readonly number[];
  /** null in shared memory. */
  readonly bytes: number | null;
  readonly digest: string;
}

/** A server before another one that notes which calls pass, and what inference requests hold. */
export interface RecordingProxy {
  /** HOST:PORT */
  readonly url: string;
  readonly requests: readonly RecordedRequest[];
  /** All calls: method and path over HTTP, the path over gRPC. */
  readonly calls: readonly string[];
  close(): void;
}

interface Tensor {
  readonly name: string;
  readonly datatype: string;
  readonly shape: readonly (number | string)[];
  readonly parameters?: Readonly<Record<string, unknown>>;
  readonly data?: unknown;
}

interface Body {
  readonly inputs?: readonly Tensor[];
  readonly outputs?: readonly Omit<Tensor, 'datatype' | 'shape'>[];
  readonly parameters?: Readonly<Record<string, unknown>>;
}

/** Parameters that say how tensors are sent, and one that changes no reply of an ordinary model. */
const OF_TRANSPORT = ['binary_data_size', 'binary_data', 'binary_data_output', 'triton_enable_empty_final_response'];

const isPlaced = (parameters: object = {}): boolean => 'shared_memory_region' in parameters;

function recordedRequest(model: string, version: string, body: Body, raw: readonly Uint8Array[]): RecordedRequest {
  const inputs = (body.inputs ?? []).map(({ name, datatype, shape, parameters }, index): RecordedInput => {
    const values = isPlaced(parameters) ? null : raw[index];
    const digest = values ? createHash('sha1').update(values).digest('hex').slice(0, 8) : '';
    return { name, datatype, shape: shape.map(Number), bytes: values?.length ?? null, digest };
  });
  const placed = (body.outputs ?? []).filter(({ parameters }) => isPlaced(parameters)).map(({ name }) => name);
  const parameters = Object.entries(body.parameters ?? {})
    .filter(([name]) => !OF_TRANSPORT.includes(name))
    .map(([name, value]) => (name === 'sequence_id' ? name : `${name}=${String(value)}`));
  return {
    model,
    version,
    inputs: inputs.toSorted((a, b) => a.name.localeCompare(b.name)),
    placedOutputs: placed.sort(),
    parameters: parameters.sort(),
  };
}

/** Each value of a parameter is in the field of its type. */
const plainParameters = (parameters: Readonly<Record<string, object>> = {}): Record<string, unknown> =>
  Object.fromEntries(Object.entries(parameters).map(([name, value]) => [name, Object.values(value)[0]]));

async function started(
  server: Server,
  recorded: Pick<RecordingProxy, 'requests' | 'calls'>,
  close: () => void,
): Promise<RecordingProxy> {
  const port = await listen(server, 0);
  return {
    url: `127.0.0.1:${port}`,
    ...recorded,
    close: () => {
      close();
      server.close();
    },
  };
}

const INFER = /^\/v2\/models\/([^/]+)(?:\/versions\/([^/]+))?\/infer$/;

/** Records what is sent over HTTP to the server at this HOST:PORT. */
export async function recordHttp(target: string): Promise<RecordingProxy> {
  const requests: RecordedRequest[] = [];
  const calls: string[] = [];
  const server = createHttp((call, answer) => {
    calls.push(`${call.method} ${call.url}`);
    const pieces: Buffer[] = [];
    call.on('data', (piece: Buffer) => pieces.push(piece));
    call.on('end', () => {
      const bytes = Buffer.concat(pieces);
      const [, model, version = ''] = INFER.exec(call.url ?? '') ?? [];
      if (model !== undefined) requests.push(readHttp(model, version, bytes, call.headers));
      const headers = { ...call.headers, 'content-length': String(bytes.length) };
      delete headers['transfer-encoding'];
      const onward = requestHttp(`http://${target}${call.url}`, { method: call.method, headers }, (reply) => {
        answer.writeHead(reply.statusCode ?? 500, reply.headers);
        reply.pipe(answer);
      });
      onward.on('error', () => answer.destroy());
      onward.end(bytes);
    });
  });
  return started(server, { requests, calls }, () => server.closeAllConnections());
}

function readHttp(
  model: string,
  version: string,
  sent: Buffer,
  headers: Readonly<Record<string, string | readonly string[] | undefined>>,
): RecordedRequest {
  const encoding = headers['content-encoding'];
  const bytes = encoding === 'gzip' ? gunzipSync(sent) : encoding === 'deflate' ? inflateSync(sent) : sent;
  const jsonBytes = Number(headers['inference-header-content-length'] ?? bytes.length);
  const body = JSON.parse(bytes.subarray(0, jsonBytes).toString()) as Body;
  let at = jsonBytes;
  const raw = (body.inputs ?? []).map(({ parameters = {}, data }) => {
    if (data !== undefined) return Buffer.from(JSON.stringify(data));
    const size = Number(parameters.binary_data_size ?? 0);
    at += size;
    return bytes.subarray(at - size, at);
  });
  return recordedRequest(model, version, body, raw);
}

/** Records what is sent over gRPC to the server at this HOST:PORT. */
export async function recordGrpc(target: string): Promise<RecordingProxy> {
  const requests: RecordedRequest[] = [];
  const calls: string[] = [];
  const onward = connect(`http://${target}`);
  const server = createHttp2();
  const sessions = new Set<{ destroy(): void }>();
  server.on('session', (session) => sessions.add(session));
  server.on('stream', (stream: ServerHttp2Stream, headers) => {
    const path = String(headers[':path']);
    calls.push(path);
    const call = onward.request({ ...headers, ':authority': target }, { endStream: false });
    if (/Infer$/.test(path)) recordMessages(stream, String(headers['grpc-encoding'] ?? ''), requests);
    stream.on('data', (piece: Buffer) => call.write(piece));
    stream.on('end', () => call.end());
    stream.on('close', () => call.close());
    call.on('response', (reply) => {
      stream.respond(reply, { waitForTrailers: true });
      stream.on('wantTrailers', () => stream.sendTrailers(trailers));
    });
    let trailers = {};
    call.on('trailers', (fields) => {
      const { ':status': _, ...others } = fields;
      trailers = others;
    });
    call.on('data', (piece: Buffer) => stream.write(piece));
    call.on('end', () => stream.end());
    for (const each of [stream, call]) each.on('error', () => undefined);
  });
  return started(server, { requests, calls }, () => {
    for (const session of sessions) session.destroy();
    onward.destroy();
  });
}

function recordMessages(stream: ServerHttp2Stream, encoding: string, requests: RecordedRequest[]): void {
  const type = messageType('ModelInferRequest');
  let bytes = Buffer.alloc(0);
  stream.on('data', (piece: Buffer) => {
    bytes = Buffer.concat([bytes, piece]);
    while (bytes.length >= 5 && bytes.length >= 5 + bytes.readUInt32BE(1)) {
      const end = 5 + bytes.readUInt32BE(1);
      const packed = bytes.subarray(5, end);
      const message = bytes[0] === 0 ? packed : encoding === 'gzip' ? gunzipSync(packed) : inflateSync(packed);
      const request = type.toObject(type.decode(message), { longs: String }) as {
        readonly model_name: string;
        readonly model_version?: string;
        readonly inputs?: readonly (Tensor & { readonly parameters?: Readonly<Record<string, object>> })[];
        readonly outputs?: readonly (Tensor & { readonly parameters?: Readonly<Record<string, object>> })[];
        readonly parameters?: Readonly<Record<string, object>>;
        readonly raw_input_contents?: readonly Uint8Array[];
      };
      const body: Body = {
        inputs: request.inputs ?? [],
        outputs: request.outputs ?? [],
        parameters: plainParameters(request.parameters),
      };
      requests.push(
        recordedRequest(request.model_name, request.model_version ?? '', body, request.raw_input_contents ?? []),
      );
      bytes = bytes.subarray(end);
    }
  });
}
