import { splitBasePath } from '#triton/wire/base-path.ts';
import type {
  InferRequest,
  PreparedRequest,
  RequestHeader,
  SendOutcome,
  Transport,
  TransportOptions,
} from '../types.ts';
import { Http1Connections } from './http1-connections.ts';
import { requestBytes } from './http1-request.ts';
import type { ResponseParser } from './http1-response-parser.ts';
import { encodeInferCall, errorOfBody } from './infer-http.ts';
import { badStatus, SENT } from './outcome.ts';
import { createEndpoint } from './socket.ts';

interface LeanHttpRequest extends PreparedRequest {
  /** Head and body. */
  readonly bytes: Buffer;
}

/**
 * KServe v2 over HTTP/1.1 on our own client: one connection per request in flight, and request
 * bytes that are made once.
 */
export function openHttpLean(options: TransportOptions): Transport<LeanHttpRequest> {
  return new HttpLean(options);
}

class HttpLean implements Transport<LeanHttpRequest> {
  readonly #url: string;
  readonly #headers: readonly RequestHeader[];
  readonly #form: Pick<TransportOptions, 'compression' | 'tensorFormat'>;
  readonly #connections: Http1Connections;

  constructor(options: TransportOptions) {
    this.#url = options.url;
    this.#headers = options.headers ?? [];
    this.#form = options;
    const endpoint = createEndpoint(options.url, options.tls, 'http/1.1', options.gate);
    const rule = { toOutcome, keepsErrors: true, timesRequests: options.timesRequests };
    this.#connections = new Http1Connections(endpoint, options.timeoutMs, rule);
  }

  prepare(request: InferRequest): LeanHttpRequest {
    const { path, headers, body } = encodeInferCall(request, this.#form);
    const all = [...headers, ...this.#headers];
    const { address, basePath } = splitBasePath(this.#url);
    const target = `${basePath}${path}`;
    return { request, bytes: requestBytes({ method: 'POST', host: address, target, headers: all, body }) };
  }

  send(prepared: LeanHttpRequest, done: (outcome: SendOutcome) => void): void {
    this.#connections.send(prepared.bytes, done);
  }

  async close(): Promise<void> {
    this.#connections.close();
  }
}

const toOutcome = (reply: ResponseParser): SendOutcome =>
  reply.isGood ? SENT : badStatus(String(reply.statusCode), errorOfBody(reply.errorBody));
