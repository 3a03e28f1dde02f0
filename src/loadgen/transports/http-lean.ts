import { realClock } from '../../base/clock.ts';
import { msToNs } from '../../base/units.ts';
import type {
  InferRequest,
  PreparedRequest,
  RequestHeader,
  SendFailure,
  SendOutcome,
  Transport,
  TransportOptions,
} from '../types.ts';
import { sweepPeriodMs } from './deadlines.ts';
import { Http1Connection, type Http1Owner } from './http1/connection.ts';
import { encodeInferCall } from './infer-http.ts';
import { CLOSED, timedOut } from './outcome.ts';
import { type Endpoint, endpointOf } from './socket.ts';

interface LeanHttpRequest extends PreparedRequest {
  /** Head and body. */
  readonly bytes: Buffer;
}

/**
 * A server may close a connection that has been idle for some seconds just when we use it again, so we do not: those
 * in wide use wait for two seconds and more.
 */
const MAX_IDLE_MS = 1500;
/** How long new connections are held back after one was refused. */
const RECONNECT_MS = 50;

/** KServe v2 over HTTP/1.1 on our own client: a connection for each request in flight, the request's bytes made once. */
export function openHttpLean(options: TransportOptions): Transport<LeanHttpRequest> {
  return new HttpLean(options);
}

const headerLine = ({ name, value }: RequestHeader): string => `${name}: ${value}`;

class HttpLean implements Transport<LeanHttpRequest>, Http1Owner {
  readonly #url: string;
  readonly #endpoint: Endpoint;
  readonly #headers: readonly string[];
  readonly #form: Pick<TransportOptions, 'compression' | 'tensorFormat'>;
  readonly #timeoutNs: number;
  readonly #timedOut: SendFailure;
  readonly #connections = new Set<Http1Connection>();
  /** Used last in, first out, so that those that are not needed grow old. */
  readonly #idle: Http1Connection[] = [];
  readonly #sweeper: NodeJS.Timeout;
  #refusedNs = Number.NEGATIVE_INFINITY;
  #open = true;

  constructor(options: TransportOptions) {
    this.#url = options.url;
    this.#endpoint = endpointOf(options.url, options.tls, 'http/1.1');
    this.#headers = (options.headers ?? []).map(headerLine);
    this.#form = options;
    this.#timeoutNs = msToNs(options.timeoutMs);
    this.#timedOut = timedOut(options.timeoutMs);
    this.#sweeper = setInterval(() => this.#sweep(), sweepPeriodMs(options.timeoutMs));
  }

  prepare(request: InferRequest): LeanHttpRequest {
    const { path, headers, body } = encodeInferCall(request, this.#form);
    const head = [
      `POST ${path} HTTP/1.1`,
      `Host: ${this.#url}`,
      ...headers.map(headerLine),
      `Content-Length: ${body.byteLength}`,
      ...this.#headers,
      '\r\n',
    ].join('\r\n');
    return { request, bytes: Buffer.concat([Buffer.from(head, 'latin1'), body]) };
  }

  send(prepared: LeanHttpRequest, done: (outcome: SendOutcome) => void): void {
    if (!this.#open) {
      done(CLOSED);
      return;
    }
    const nowNs = realClock.nowNs();
    const dueNs = nowNs + this.#timeoutNs;
    const connection = this.#idle.pop();
    if (connection && nowNs - connection.idleSinceNs < msToNs(MAX_IDLE_MS)) {
      connection.send(prepared.bytes, done, dueNs);
      return;
    }
    // The newest of the idle ones is too old, or there is none: so are all.
    for (const old of [...this.#idle, connection]) old?.close(CLOSED);
    const fresh = new Http1Connection(this);
    this.#connections.add(fresh);
    const isHeldBack = nowNs - this.#refusedNs < msToNs(RECONNECT_MS);
    fresh.open(this.#endpoint, prepared.bytes, done, dueNs, isHeldBack ? RECONNECT_MS : 0);
  }

  async close(): Promise<void> {
    this.#open = false;
    clearInterval(this.#sweeper);
    for (const connection of [...this.#connections]) connection.close(CLOSED);
  }

  idle(connection: Http1Connection): void {
    connection.idleSinceNs = realClock.nowNs();
    this.#idle.push(connection);
  }

  gone(connection: Http1Connection, refused: boolean): void {
    this.#connections.delete(connection);
    const at = this.#idle.lastIndexOf(connection);
    if (at >= 0) this.#idle.splice(at, 1);
    if (refused) this.#refusedNs = realClock.nowNs();
  }

  #sweep(): void {
    const nowNs = realClock.nowNs();
    for (const connection of [...this.#connections]) connection.expire(nowNs, this.#timedOut);
  }
}
